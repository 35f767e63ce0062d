/** Replaces a file in one step: a reader sees either the old content or the new content. */
import { fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
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
  const next = path.join(dir, `${UNFINISHED_PREFIX}${process.pid}-${base}`);
  try {
    // An earlier process with the same id may have left this file.
    rmSync(next, { force: true });
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

/**
 * Removes the unfinished files that {@link replaceFile} left when its process was killed. The files of
 * living processes stay: a process that exports keys may be writing one, as it needs no lock.
 */
export function removeDeadWrites(snapshotsDir: string): void {
  for (const name of readdirSync(snapshotsDir)) {
    const [, writer] = /^\.unfinished-(\d+)-/.exec(name) ?? [];
    if (writer === undefined || isAlive(Number(writer))) continue;
    rmSync(path.join(snapshotsDir, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other error, such as EPERM for another user's process, means that the process is alive.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
