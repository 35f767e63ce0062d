/**
 * The program of the thread that opens generations. It returns shared memory and file descriptors, which
 * stay valid after the thread has ended.
 *
 * The thread stays between two orders, so that it need not start and compile again. It then refers to
 * no generation: what the proxy closes must be freed.
 */
import { parentPort } from 'node:worker_threads';
import { makeCalls } from '../workers/calls.ts';
import { type OpenOrder, openFiles, reportMemory } from './open-files.ts';

function open(order: OpenOrder) {
  const files = openFiles(order);
  reportMemory(files);
  return files;
}

if (parentPort !== null) makeCalls(parentPort, { open });

export type OpenWorker = { readonly open: typeof open };
