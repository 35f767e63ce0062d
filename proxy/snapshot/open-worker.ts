/**
 * The program of the thread that opens generations. For each order it reports how much memory the
 * generation takes, waits until there is room, and returns shared memory and file descriptors. Both stay
 * valid after the thread has ended.
 *
 * The thread stays between two orders, so that it need not start and compile again. It then refers to
 * no generation: what the proxy closes must be freed.
 */
import { parentPort } from 'node:worker_threads';
import { explainDenied } from '../../program/file-access.ts';
import { collectGarbage } from './collect-garbage.ts';
import {
  type OpenedFiles,
  type OpenOrder,
  openFiles,
  type Plan,
  planOpening,
} from './open-files.ts';

/** What the thread gets: an order, and then, once there is room, the word to carry it out. */
export type ToOpenWorker = { readonly order: OpenOrder } | 'continue';

/** What it answers: how many bytes it needs, then the opened files; or, instead of either, what failed. */
export type FromOpenWorker =
  | { readonly bytes: number }
  | { readonly files: OpenedFiles }
  | { readonly error: Error };

let plan: Plan | undefined;

parentPort?.on('message', async (message: ToOpenWorker) => {
  try {
    parentPort?.postMessage(answer(message));
  } catch (error) {
    // Explained here, because an error loses its code when it is sent.
    parentPort?.postMessage({ error: await explainDenied(error) });
  }
  if (plan === undefined) setImmediate(collectGarbage);
});

function answer(message: ToOpenWorker): FromOpenWorker {
  const planned = plan;
  plan = undefined;
  if (message !== 'continue') {
    plan = planOpening(message.order);
    return { bytes: plan.bytes };
  }
  if (planned === undefined) throw new Error('There is no order to carry out.');
  return { files: openFiles(planned) };
}
