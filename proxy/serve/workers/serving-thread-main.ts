/** The program of a serving thread that is not the first thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { makeCalls } from '../../../lib/program/calls.ts';
import { makeLog } from '../../../lib/program/log.ts';
import { type FirstThread, makeServingThread, type ThreadStart } from './serving-thread.ts';

if (parentPort === null) throw new Error('serving-thread-main.ts can only run as a worker thread.');
const start: ThreadStart = workerData;
const log = makeLog(start.environment.LOG_LEVEL, { thread: start.number });
const first: FirstThread = {
  writeLines: (text) => void call('writeLines', text),
};
const call = makeCalls<FirstThread>(parentPort, makeServingThread(start, first, log));
