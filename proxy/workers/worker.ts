/**
 * The program of a serving thread beside the first: the same server on the same port, with keys,
 * limits and generations from the first thread.
 */
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { readEnvironment } from '../../program/environment/environment.ts';
import { makeLog } from '../../program/log.ts';
import { makeRequestCounts } from '../admin/metrics.ts';
import { makeKeyTable, type SharedKey } from '../keys/key-table.ts';
import { makeAddressLimits } from '../limits/address-limits.ts';
import { makeThreadGenerations } from '../snapshot/thread-generations.ts';
import { makeServing, now } from './serving.ts';
import type { FromPeer, PeerData, ToPeer } from './worker-pool.ts';

const main = parentPort as MessagePort;
const say = (message: FromPeer) => main.postMessage(message);
const { number, addresses, counts, connections, keys: keysPort } = workerData as PeerData;
const environment = readEnvironment([
  'ADDRESS_RATE_LIMIT',
  'TRUSTED_PROXIES',
  'ACCOUNT_URL',
  'LOG_LEVEL',
]);
const log = makeLog(environment.LOG_LEVEL, { thread: number });

const keys = makeKeyTable(receiveKeys);
// The first thread says what changed before a window moves, so that it is here when it is missed.
function receiveKeys(): void {
  for (;;) {
    const received = receiveMessageOnPort(keysPort);
    if (received === undefined) return;
    keys.replace(received.message as SharedKey[]);
  }
}
keysPort.on('message', (list: SharedKey[]) => keys.replace(list));

const snapshots = makeThreadGenerations((id) => say({ ask: id }), now);

const serving = makeServing({
  snapshots,
  keys,
  addresses: makeAddressLimits(environment.ADDRESS_RATE_LIMIT, addresses),
  trustedProxies: environment.TRUSTED_PROXIES,
  accountUrl: environment.ACCOUNT_URL,
  counts: makeRequestCounts(counts),
  connections,
  log,
});

main.on('message', async (message: ToPeer) => {
  if ('serve' in message) snapshots.serve(message.serve);
  else if ('opened' in message) snapshots.opened(message.opened, message.files);
  else if ('forget' in message) {
    await snapshots.forget(message.forget);
    say({ forgotten: message.forget });
  } else if ('listen' in message) {
    const place = { ...message.listen, reusePort: true };
    serving.server.listen(place, () => say({ state: 'listening' }));
  } else if (message.order === 'announce end') {
    serving.announceEnd();
  } else {
    await serving.close();
    say({ state: 'closed' });
  }
});
