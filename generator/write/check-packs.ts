/**
 * Checks the packs that this run has just written, on two threads. The hashes of records are
 * not checked again: this run computed them from the same bytes as the SHA-256 of the file, which is
 * checked.
 */
import { checkPack, type Pack } from '../../store/generations/check-packs.ts';
import type { PackChecker } from '../../store/generations/verify.ts';
import {
  makeSharedQueue,
  type QueueEnd,
  type SharedQueue,
  takeFrom,
} from '../worker/shared-queue.ts';
import { both, type JobWorker } from '../worker/worker.ts';

/** Divides the packs between the worker and this thread, which checks all other files first. */
export function checkPacksWith(
  worker: JobWorker<{ checkPackFiles: typeof checkPackFiles }>,
): PackChecker {
  return async (dir, packs, checkOthers) => {
    const queue = makeSharedQueue(packs.length);
    const workerChecks = worker.run('checkPackFiles', dir, packs, queue, 'back');
    const ownChecks = (async () => {
      checkOthers();
      checkPackFiles(dir, packs, queue, 'front');
    })();
    await both(workerChecks, ownChecks);
  };
}

/** Checks the packs that this thread takes from the queue. */
export function checkPackFiles(
  dir: string,
  packs: readonly Pack[],
  queue: SharedQueue,
  end: QueueEnd,
): void {
  for (const number of takeFrom(queue, end)) checkPack(dir, packs[number], false);
}
