/**
 * Checks the packs that this run has just written, on two threads. The hashes of records are
 * not checked again: this run computed them from the same bytes as the SHA-256 of the file, which is
 * checked.
 */
import path from 'node:path';
import type { ManifestFile } from '../../format/manifest.ts';
import { checkFile } from '../../store/files/checked-files.ts';
import { isSameFile } from '../../store/files/known-files.ts';
import { checkPack, type Pack } from '../../store/generations/check-packs.ts';
import type { PackChecker } from '../../store/generations/verify.ts';
import {
  makeSharedQueue,
  type QueueEnd,
  type SharedQueue,
  takeFrom,
} from '../worker/shared-queue.ts';
import { both, type JobWorker } from '../worker/worker.ts';

/**
 * Divides the packs between the worker and this thread, which checks all other files first.
 * @param earlier the generation from which files were linked; they are known to be intact
 */
export function checkPacksWith(
  worker: JobWorker<{ checkPackFiles: typeof checkPackFiles }>,
  earlier?: { readonly dir: string; readonly manifestFiles: readonly ManifestFile[] },
): PackChecker {
  const hashes = new Map(earlier?.manifestFiles.map(({ path: name, sha256 }) => [name, sha256]));
  const isLinked = (dir: string, { path: name, sha256 }: ManifestFile) =>
    earlier !== undefined &&
    hashes.get(name) === sha256 &&
    isSameFile(path.join(earlier.dir, name), path.join(dir, name));
  return async (dir, allPacks, checkOthers) => {
    const packs = allPacks.filter(({ file }) => !isLinked(dir, file));
    const queue = makeSharedQueue(packs.length);
    const workerChecks = worker.run('checkPackFiles', dir, packs, queue, 'back');
    const ownChecks = (async () => {
      checkOthers((folder, file) => {
        if (!isLinked(folder, file)) checkFile(folder, file);
      });
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
