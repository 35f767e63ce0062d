/**
 * The program of the thread that opens generations. For each order, it returns shared memory and file
 * descriptors, or what failed. Both stay valid after the thread has ended.
 *
 * The thread stays between two orders, so that it need not start and compile again. It then refers to
 * no generation: what the proxy closes must be freed.
 */
import { parentPort } from 'node:worker_threads';
import { collectGarbage } from './collect-garbage.ts';
import { type OpenedFiles, type OpenOrder, openFiles } from './open-files.ts';

/** What the thread answers to an order. */
export type OpenReply = { readonly files: OpenedFiles } | { readonly error: Error };

parentPort?.on('message', (order: OpenOrder) => {
  parentPort?.postMessage(carryOut(order));
  setImmediate(collectGarbage);
});

function carryOut(order: OpenOrder): OpenReply {
  try {
    return { files: openFiles(order) };
  } catch (error) {
    return { error: error as Error };
  }
}
