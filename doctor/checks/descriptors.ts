/** Limits on open files: how many connections they leave to the proxy. */

import { currentId, generationDir, readManifest } from '../../generations/generations.ts';
import { readLimit } from '../../program/connection-limit.ts';
import { shareOut } from '../../proxy/admin/connection-limit.ts';
import { type Check, requireValue, type Scene } from '../findings/check.ts';

/** What a proxy has open besides connections and packs: libraries, pipes, sockets. */
const IN_USE = 64;
/** A few clients with keep-alive connections can exhaust fewer than this. */
const FEWEST = 256;

export const descriptors: Check = {
  name: 'open files',
  programs: ['proxy'],
  async run(scene, { ok, warn }) {
    const limit = readLimit();
    const platforms = platformsOf(scene);
    const { connections } = shareOut({ limit, inUse: IN_USE }, platforms, true);
    const text = `The limit on open files is ${limit} here, which leaves ${connections} connections to a proxy${platforms === 0 ? '' : ` with ${platforms} platforms`}.`;
    if (connections >= FEWEST) ok(`${text} A service has the limit of its unit (LimitNOFILE).`);
    else
      warn(text, 'Raise it: LimitNOFILE=65536 in the systemd unit, or ulimit -n 65536 in a shell.');
  },
};

function platformsOf(scene: Scene): number {
  const snapshotsDir = requireValue(scene, 'SNAPSHOTS_DIR');
  try {
    const id = currentId(snapshotsDir);
    return id === undefined ? 0 : readManifest(generationDir(snapshotsDir, id)).counts.platforms;
  } catch {
    // The check of the snapshots folder reports it.
    return 0;
  }
}
