/** Limits on open files: how many connections they leave to the proxy. */
import { mostConnections, readOpenFilesLimit } from '../../program/connections.ts';
import type { Check } from '../findings/check.ts';

/** A few clients with keep-alive connections can exhaust fewer than this. */
const FEWEST = 256;

export const descriptors: Check = {
  name: 'open files',
  programs: ['proxy'],
  async run(_scene, { ok, warn }) {
    const limit = readOpenFilesLimit();
    const connections = mostConnections(limit);
    const text = `The limit on open files is ${limit} here, which leaves ${connections} connections to a proxy.`;
    if (connections >= FEWEST) ok(`${text} A service has the limit of its unit (LimitNOFILE).`);
    else
      warn(text, 'Raise it: LimitNOFILE=65536 in the systemd unit, or ulimit -n 65536 in a shell.');
  },
};
