/**
 * Replaces a small file in one step: a reader sees the old content or the new, also after a crash.
 */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { HOLD_FILE, KEYS_FILE, RUN_REPORT, STATUS_FILE } from '../../format/layout.ts';
import { syncFolder } from '../generations/generations.ts';
import { openForWriting } from './file-modes.ts';

/**
 * An empty folder in the place of the file is replaced, too.
 * @param mode the permissions of the new file; by default those that its folder gives to files
 */
export function replaceFile(file: string, content: string, mode?: number): void {
  const next = `${file}.${process.pid}`;
  try {
    const descriptor = openForWriting(next, 'w', mode);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    removeFolder(file);
    renameSync(next, file);
    syncFolder(path.dirname(file));
  } catch (cause) {
    rmSync(next, { force: true });
    throw new Error(`write ${path.basename(file)}: ${(cause as Error).message}`, { cause });
  }
}

/** Removes an empty folder in the place of a file: a rename would not replace it. */
function removeFolder(file: string): void {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isDirectory()) return;
  try {
    rmdirSync(file);
  } catch (cause) {
    throw new Error(
      `${file} is a directory (${(cause as Error).message}); move it away, then run the command again`,
      { cause },
    );
  }
}

/**
 * Removes what {@link replaceFile} was writing when its process was killed. What a living process
 * writes is left alone: keys are exported without the lock.
 */
export function removeDeadWrites(snapshotsDir: string): void {
  for (const name of readdirSync(snapshotsDir)) {
    const file = [KEYS_FILE, STATUS_FILE, RUN_REPORT, HOLD_FILE].find((known) =>
      name.startsWith(`${known}.`),
    );
    const writer = file === undefined ? '' : name.slice(file.length + 1);
    if (/^\d+$/.test(writer) && !isAlive(Number(writer))) {
      rmSync(path.join(snapshotsDir, name), { force: true });
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is alive too.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
