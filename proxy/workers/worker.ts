/** The program of a serving thread that is not the first thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { readEnvironment } from '../../program/environment/environment.ts';
import { makeLog } from '../../program/log.ts';
import { makeCalls } from './calls.ts';
import { makeServingThread, SERVING_VARIABLES, type ThreadStart } from './serving-thread.ts';
import type { FirstThreadCalls } from './serving-threads.ts';

if (parentPort === null) throw new Error('worker.ts runs only as a worker thread of the proxy.');
const start: ThreadStart = workerData;
const environment = readEnvironment(SERVING_VARIABLES);
const log = makeLog(environment.LOG_LEVEL, { thread: start.number });
const call = makeCalls<FirstThreadCalls>(parentPort, {
  listen: async (order) => (await thread).listen(order),
  setKeys: async (keys) => (await thread).setKeys(keys),
  serve: async (files) => (await thread).serve(files),
  announceEnd: async () => (await thread).announceEnd(),
  close: async () => (await thread).close(),
});
const thread = makeServingThread(
  start,
  {
    readChanges: (order) => call('readChanges', order),
    writeLines: (text) => void call('writeLines', text),
  },
  environment,
  log,
);
