/**
 * The program of a worker thread that opens one generation. It reports how much memory the generation
 * takes, waits until there is room, and returns shared memory and file descriptors. Both stay valid
 * after the thread has ended.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type OpenedFiles, type OpenOrder, openFiles, planOpening } from './open-files.ts';

/** The messages from the worker: first how many bytes it needs; after any reply, the opened files. */
export type FromOpenWorker = { readonly bytes: number } | { readonly files: OpenedFiles };

const post = (message: FromOpenWorker) => parentPort?.postMessage(message);
const order: OpenOrder = workerData;
const plan = planOpening(order);
parentPort?.once('message', () => post({ files: openFiles(plan) }));
post({ bytes: plan.bytes });
