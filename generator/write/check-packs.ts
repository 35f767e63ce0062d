/**
 * Checks the packs that this run has just written, on two threads. Records are not hashed again:
 * their hashes were taken of the same bytes as the SHA-256 of each file.
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

/** Shares the packs out between this thread, which checks everything else first, and the worker. */
export function checkPacksWith(
  worker: JobWorker<{ checkPackFiles: typeof checkPackFiles }>,
): PackChecker {
  return async (dir, packs, checkOthers) => {
    const queue = makeSharedQueue(packs.length);
    const theirs = worker.run('checkPackFiles', dir, packs, queue, 'back');
    const ours = (async () => {
      checkOthers();
      checkPackFiles(dir, packs, queue, 'front');
    })();
    await both(theirs, ours);
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
