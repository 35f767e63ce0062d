/**
 * Opens the packs of a generation that clients request by id. A pack is opened when it is read, and only
 * a few are open at a time, so that the number of descriptors does not grow with the number of platforms
 * and generations. A file is used only if it is the same file that was checked.
 */
import { type BigIntStats, closeSync, fstatSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile, UnfitFileError } from '../../program/files/bounded-file.ts';

/** The most packs of one generation that a thread has open. */
export const MOST_OPEN_PACKS = 16;

/** The generation was removed, or one of its packs was replaced, after it was opened. */
export class PackGoneError extends Error {}

export interface PackFiles {
  /**
   * The descriptor of a pack, valid until the next call.
   * @throws PackGoneError
   */
  open(file: ManifestFile): number;
  close(): void;
}

/** @param identities for each path, the result of `identityOf` at the time when the pack was checked */
export function makePackFiles(dir: string, identities: ReadonlyMap<string, string>): PackFiles {
  const open = new LRUCache<string, number>({
    max: MOST_OPEN_PACKS,
    dispose: (descriptor) => closeSync(descriptor),
  });
  return {
    open(file) {
      const known = open.get(file.path);
      if (known !== undefined) return known;
      const descriptor = openChecked(dir, file, identities.get(file.path));
      open.set(file.path, descriptor);
      return descriptor;
    },
    close: () => open.clear(),
  };
}

/**
 * Opens a file if it is still the one that was checked.
 * @throws PackGoneError
 */
export function openChecked(dir: string, file: ManifestFile, identity: string | undefined): number {
  let descriptor: number;
  try {
    descriptor = openRegularFile(path.join(dir, file.path));
  } catch (error) {
    const isReplaced = error instanceof UnfitFileError;
    if (!isReplaced && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new PackGoneError(`${file.path} no longer exists.`, { cause: error });
  }
  if (identityOf(file, descriptor) === identity) return descriptor;
  closeSync(descriptor);
  throw new PackGoneError(`${file.path} was replaced since it was checked.`);
}

/** The identity of a checked file. Files with equal identities have equal contents. */
export function identityOf({ sha256 }: ManifestFile, descriptor: number): string {
  return identityIn(fstatSync(descriptor, { bigint: true }), sha256);
}

/** As {@link identityOf}, from the attributes of an open file. */
export function identityIn({ dev, ino, size, mtimeNs }: BigIntStats, sha256: string): string {
  return `${sha256} ${dev} ${ino} ${size} ${mtimeNs}`;
}
