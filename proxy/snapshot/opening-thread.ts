/**
 * The program of the thread that opens generations, so that the serving threads can answer requests at the
 * same time. Between two orders it refers to no generation: what the proxy closes must be freed.
 */
import { parentPort } from 'node:worker_threads';
import { makeCalls } from '../../lib/program/calls.ts';
import { type OpenOrder, openFiles, reportMemory } from './open-files.ts';

const functions = {
  /** What it has opened stays valid after the end of the thread. */
  open(order: OpenOrder) {
    const files = openFiles(order);
    reportMemory(files);
    return files;
  },
};
export type OpeningThread = typeof functions;

if (parentPort === null) throw new Error('opening-thread.ts can only run as a worker thread.');
makeCalls(parentPort, functions);
