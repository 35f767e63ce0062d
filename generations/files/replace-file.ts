/** Replaces a file in one step: a reader sees either the old content or the new content. */
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
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  ACCEPTED_FILE,
  EARLIER_RUN,
  HOLD_FILE,
  KEYS_FILE,
  REPLICA_FILE,
  REPORT,
  STATUS_FILE,
} from '../../format/layout.ts';
import { correctOpenMode, openForWriting } from './file-modes.ts';
import { syncFolder } from './sync-folder.ts';

/** The files of a snapshots folder that are replaced in one step. */
const REPLACED = [
  KEYS_FILE,
  STATUS_FILE,
  REPORT,
  EARLIER_RUN,
  HOLD_FILE,
  REPLICA_FILE,
  ACCEPTED_FILE,
];

/**
 * Replaces a small file. Once this returns, the new content survives a crash or a power cut. An empty
 * folder of the same name is replaced too.
 * @param mode the permissions of the new file; by default those of new files in its folder
 */
export function replaceFile(file: string, content: string, mode?: number): void {
  const next = `${file}.${process.pid}`;
  try {
    // An earlier process with the same id may have left this file, perhaps as another user.
    rmSync(next, { recursive: true, force: true });
    const descriptor = openForWriting(next, 'wx', mode);
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
    rmSync(next, { recursive: true, force: true });
    throw new Error(`write ${path.basename(file)}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Replaces a file without waiting for the disk: after a power cut, the file may be damaged or gone.
 * For large files of a program that answers requests at the same time.
 * @param next the path of the new file until it is complete
 * @returns the modification time of the new file, in milliseconds
 */
export async function replaceInBackground(
  file: string,
  next: string,
  content: string | Uint8Array,
  mode: number,
): Promise<number> {
  try {
    await rm(next, { recursive: true, force: true });
    const handle = await open(next, 'wx', mode);
    try {
      correctOpenMode(handle.fd, mode);
      await handle.writeFile(content);
      const { mtimeMs } = await handle.stat();
      await rename(next, file);
      return mtimeMs;
    } finally {
      await handle.close();
    }
  } catch (cause) {
    await rm(next, { recursive: true, force: true }).catch(() => {});
    throw new Error(`write ${file}: ${(cause as Error).message}`, { cause });
  }
}

/** Removes an empty folder with the name of the file, because a rename would not replace a folder. */
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
 * Removes the unfinished files that {@link replaceFile} left when its process was killed. The files of
 * living processes stay: a process that exports keys may be writing one, as it needs no lock.
 */
export function removeDeadWrites(snapshotsDir: string): void {
  for (const name of readdirSync(snapshotsDir)) {
    const file = REPLACED.find((known) => name.startsWith(`${known}.`));
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
    // Any other error, such as EPERM for another user's process, means that the process is alive.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
