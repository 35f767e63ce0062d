/**
 * Remembers which files this process has found intact, so that a replica does not hash hundreds of
 * megabytes again for each small change. A file counts as the same while its device, inode, size and
 * time of modification are. After an hour it is hashed again, because a disk can damage a file without
 * changing them; the proxy hashes every new file anyway before it serves it.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import type { ManifestFile } from '../../format/manifest.ts';
import { isIntact, readChecked, readUnhashed } from './checked-files.ts';

const REMEMBERED_MS = 3_600_000;
/** Several generations of a catalogue with a thousand platforms. */
const MOST_REMEMBERED = 20_000;

/** Checks files against their size and SHA-256 in the manifest. */
export interface FileChecks {
  isIntact(dir: string, file: ManifestFile): boolean;
  /** The whole content of a file. @throws Error if it is damaged */
  read(dir: string, file: ManifestFile): Buffer;
}

/** Hashes every file, every time. */
export const HASH_ALWAYS: FileChecks = { isIntact, read: readChecked };

/** @param now a clock in milliseconds */
export function makeKnownFiles(now: () => number): FileChecks {
  /** For each file, when it was hashed. */
  const hashed = new Map<string, number>();

  function isKnown(identity: string | undefined): boolean {
    const at = identity === undefined ? undefined : hashed.get(identity);
    return at !== undefined && now() - at < REMEMBERED_MS;
  }

  /** @param identity from before the file was hashed, so that later changes do not go unnoticed */
  function remember(identity: string | undefined): void {
    if (hashed.size >= MOST_REMEMBERED) hashed.clear();
    if (identity !== undefined) hashed.set(identity, now());
  }

  return {
    isIntact(dir, file) {
      const identity = identityOf(path.join(dir, file.path), file);
      if (isKnown(identity)) return true;
      if (!isIntact(dir, file)) return false;
      remember(identity);
      return true;
    },
    read(dir, file) {
      const identity = identityOf(path.join(dir, file.path), file);
      if (isKnown(identity)) return readUnhashed(dir, file);
      const content = readChecked(dir, file);
      remember(identity);
      return content;
    },
  };
}

/** @returns undefined if the file does not exist, or has another size */
function identityOf(name: string, { sha256, size: expected }: ManifestFile): string | undefined {
  const stats = statSync(name, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const { dev, ino, size, mtimeNs } = stats;
  if (size !== BigInt(expected)) return undefined;
  return `${sha256} ${dev} ${ino} ${size} ${mtimeNs}`;
}

/** Whether two names are links to the same file. */
export function isSameFile(file: string, other: string): boolean {
  const [a, b] = [file, other].map((name) => statSync(name, { throwIfNoEntry: false }));
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}
