/** The program of a serving thread that is not the first thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { makeLog } from '../../program/log.ts';
import { makeCalls } from './calls.ts';
import { type FirstThread, makeServingThread, type ThreadStart } from './serving-thread.ts';

if (parentPort === null) throw new Error('worker.ts runs only as a worker thread of the proxy.');
const start: ThreadStart = workerData;
const log = makeLog(start.environment.LOG_LEVEL, { thread: start.number });
const thread = makeServingThread(
  start,
  {
    readChanges: (order) => call('readChanges', order),
    writeLines: (text) => void call('writeLines', text),
  },
  log,
);
const call = makeCalls<FirstThread>(parentPort, thread);
