/**
 * The program of the thread that opens generations. For each order, it returns shared memory and file
 * descriptors, or what failed. Both stay valid after the thread has ended.
 *
 * The thread stays between two orders, so that it need not start and compile again. It then refers to
 * no generation: what the proxy closes must be freed.
 */
import { parentPort } from 'node:worker_threads';
import { explainDenied } from '../../program/file-access.ts';
import { collectGarbage } from './collect-garbage.ts';
import { type OpenedFiles, type OpenOrder, openFiles } from './open-files.ts';

/** What the thread answers to an order. */
export type OpenReply = { readonly files: OpenedFiles } | { readonly error: Error };

parentPort?.on('message', async (order: OpenOrder) => {
  parentPort?.postMessage(await carryOut(order));
  setImmediate(collectGarbage);
});

async function carryOut(order: OpenOrder): Promise<OpenReply> {
  try {
    return { files: openFiles(order) };
  } catch (error) {
    // Explained here, because an error loses its code when it is sent.
    return { error: await explainDenied(error) };
  }
}
