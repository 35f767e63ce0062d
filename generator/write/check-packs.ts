/**
 * Checks the packs that a run has just written, on two threads if there is a worker. The hashes of records are
 * not checked again: the run computed them from the same bytes as the SHA-256 of the file, which is checked.
 */
import path from 'node:path';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { Manifest, ManifestFile } from '../../format/manifest.ts';
import { checkFile } from '../../store/files/checked-files.ts';
import { isSameFile } from '../../store/files/known-files.ts';
import { checkPack, type Pack } from '../../store/generations/check-packs.ts';
import type { PackChecker } from '../../store/generations/verify.ts';
import { both } from '../worker.ts';
import type { RunWorker } from './jobs.ts';

/** @param earlier the generation from which files were linked; they are known to be intact */
export function checkPacksWith(
  worker: RunWorker | undefined,
  earlier: { readonly dir: string; readonly manifest: Manifest } | undefined,
): PackChecker {
  const hashes = new Map(earlier?.manifest.files.map(({ path: name, sha256 }) => [name, sha256]));
  const isLinked = (dir: string, { path: name, sha256 }: ManifestFile) =>
    earlier !== undefined &&
    hashes.get(name) === sha256 &&
    isSameFile(path.join(earlier.dir, name), path.join(dir, name));
  return async (dir, allPacks, checkOthers) => {
    const packs = allPacks
      .filter(({ file }) => !isLinked(dir, file))
      .sort((a, b) => b.file.size - a.file.size);
    const next = sharedZeros(Int32Array, 1);
    const ownChecks = async () => {
      checkOthers((folder, file) => {
        if (!isLinked(folder, file)) checkFile(folder, file);
      });
      checkPackFiles(dir, packs, next);
    };
    await both(worker?.run('checkPackFiles', dir, packs, next), ownChecks());
  };
}

/** Checks packs while there are any. @param next one entry, which threads share: how many were taken */
export function checkPackFiles(dir: string, packs: readonly Pack[], next: Int32Array): void {
  for (let at = Atomics.add(next, 0, 1); at < packs.length; at = Atomics.add(next, 0, 1))
    checkPack(dir, packs[at], false);
}
