/**
 * The packs of a generation that clients ask for by name. A pack is opened when it is first read, and
 * few are open at a time, so that the number of descriptors does not grow with platforms and
 * generations. A pack is only read while it is the file that was checked.
 */
import { closeSync, fstatSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile, UnfitFileError } from '../../program/files/bounded-file.ts';

/** How many packs of one generation a thread has open at most. */
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

/** @param identities by path, as `identityOf` gave them when each pack was checked */
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

function openChecked(dir: string, file: ManifestFile, identity: string | undefined): number {
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

/** Identifies a file that was checked: files with equal identities have equal contents. */
export function identityOf({ sha256 }: ManifestFile, descriptor: number): string {
  const { dev, ino, size, mtimeNs } = fstatSync(descriptor, { bigint: true });
  return `${sha256} ${dev} ${ino} ${size} ${mtimeNs}`;
}
