/**
 * The worker thread that opens a generation. It reports how much memory that takes, waits until there
 * is room, and hands back shared memory and descriptors, which outlive it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type OpenedFiles, type OpenOrder, openFiles, planOpening } from './open-files.ts';

/** What the worker posts: first the bytes that it needs and, once it gets an answer, the files. */
export type FromOpenWorker = { readonly bytes: number } | { readonly files: OpenedFiles };

const post = (message: FromOpenWorker) => parentPort?.postMessage(message);
const order: OpenOrder = workerData;
const plan = planOpening(order);
parentPort?.once('message', () => post({ files: openFiles(plan) }));
post({ bytes: plan.bytes });
