/**
 * The program of a worker thread. It runs the same server on the same port as the first thread, which
 * sends it the keys, the memory of the limits and the generations.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { readEnvironment } from '../../program/environment/environment.ts';
import { makeLog } from '../../program/log.ts';
import { makeRequestCounts } from '../api/request-counts.ts';
import { makeThreadChanges } from '../changes/changes.ts';
import { makeKeyTable } from '../keys/key-table.ts';
import { makeAddressLimits } from '../limits/address-limits.ts';
import { loadStoreClient } from '../limits/shared/open-shared-limits.ts';
import { makeThreadGeneration } from '../snapshot/thread-generation.ts';
import { makeServing, SERVING_VARIABLES } from './serving.ts';
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.ts';

if (parentPort === null) throw new Error('worker.ts runs only as a worker thread of the proxy.');
const main = parentPort;
const send = (message: FromWorker) => main.postMessage(message);
const start: WorkerStart = workerData;
const { number, addresses, counts, connections } = start;
const environment = readEnvironment(SERVING_VARIABLES);
const log = makeLog(environment.LOG_LEVEL, { thread: number });

const keys = makeKeyTable(number - 1);

const snapshots = makeThreadGeneration();

const changes = makeThreadChanges((number, order) => send({ type: 'read changes', number, order }));

let onLinesDone = () => {};

const serving = makeServing({
  ...start,
  connectToStore: await loadStoreClient(environment.LIMITS_URL),
  snapshots,
  readChanges: changes.read,
  keys,
  addresses: makeAddressLimits(environment.ADDRESS_RATE_LIMIT, addresses),
  environment,
  counts: makeRequestCounts(counts),
  connections,
  handOnLines(batch, done) {
    onLinesDone = done;
    send({ type: 'log lines', batch });
  },
  log,
});

main.on('message', async (message: ToWorker) => {
  switch (message.type) {
    case 'listen': {
      const { port, host } = message;
      await serving.limits?.start();
      serving.server.listen({ port, host, reusePort: true }, () => send({ type: 'listening' }));
      break;
    }
    case 'keys':
      keys.replace(message.keys);
      send({ type: 'keys known' });
      break;
    case 'serve':
      await snapshots.serve(message.files);
      send({ type: 'serving' });
      break;
    case 'changes':
      changes.answered(message.number, message.reply);
      break;
    case 'lines done':
      onLinesDone();
      break;
    case 'announce end':
      serving.announceEnd();
      break;
    case 'close':
      await serving.close();
      send({ type: 'closed' });
      break;
  }
});
