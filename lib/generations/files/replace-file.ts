/** Replaces a file in one step: a reader sees either the old content or the new content. */
import { randomBytes } from 'node:crypto';
import { fsyncSync, lstatSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { UNFINISHED_PREFIX } from '../../format/layout.ts';
import { explainFullDisk } from '../../program/failure.ts';
import { withFile } from '../../program/files/bounded-file.ts';
import { type Content, writeNewFile } from './file-modes.ts';

/**
 * Replaces a small file. Once this returns, the new content survives a crash or a power cut.
 * @param options.mode the permissions of the new file; by default those of new files in its folder
 * @param options.isSynced false for a file that is written all the time and may be lost by a power cut
 */
export function replaceFile(
  file: string,
  content: Content,
  { mode, isSynced = true }: { readonly mode?: number; readonly isSynced?: boolean } = {},
): void {
  const [dir, base] = [path.dirname(file), path.basename(file)];
  // Not the process id: programs in two containers can have the same one.
  const next = path.join(dir, `${UNFINISHED_PREFIX}${randomBytes(6).toString('hex')}-${base}`);
  try {
    writeNewFile(next, content, { mode, isSynced });
    renameSync(next, file);
    if (isSynced) syncFolder(dir);
  } catch (cause) {
    rmSync(next, { force: true });
    throw explainFullDisk(new Error(`write ${base}: ${(cause as Error).message}`, { cause }), dir);
  }
}

/** Syncs a folder. Only then does a rename or a new file in it survive a power cut. */
export function syncFolder(dir: string): void {
  withFile(openSync(dir, 'r'), fsyncSync);
}

/** Longer than any write takes, even on a slow disk. */
const LONGEST_WRITE_MS = 600_000;

/**
 * Removes the unfinished files that {@link replaceFile} left when its process was killed. Younger files
 * stay: a process that exports keys, perhaps in another container, may be writing one, as it needs no lock.
 */
export function removeDeadWrites(snapshotsDir: string): void {
  for (const name of readdirSync(snapshotsDir)) {
    if (!/^\.unfinished-[0-9a-f]+-/.test(name)) continue;
    const file = path.join(snapshotsDir, name);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats && stats.mtimeMs + LONGEST_WRITE_MS < Date.now()) rmSync(file, { force: true });
  }
}
