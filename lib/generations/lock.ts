/**
 * The lock of a snapshots folder: only one generator, rollback, hold or prune writes at a time.
 *
 * The lock is the kernel's lock on a file, which SQLite takes, because Node cannot. The kernel releases
 * the lock when the process ends for any reason, so a killed process leaves no lock behind.
 */
import { closeSync, existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { LOCK_FILE } from '../format/layout.ts';
import { type ErrorWithExitCode, explainFullDisk } from '../program/failure.ts';
import { tryToRead } from '../program/files/bounded-file.ts';
import { makeSnapshotsFolder, openForWriting } from './files/file-modes.ts';

const WAITING_MS = 100;
/** In bytes. */
const LONGEST_HOLDER = 32;

/** Another process is writing into the snapshots folder. */
export class LockedError extends Error implements ErrorWithExitCode {
  override readonly name = 'LockedError';
  readonly exitCode = 4;
}

/**
 * Holds the lock while `work` runs.
 * @throws LockedError at once if another process holds the lock
 */
export async function withRunLock<T>(snapshotsDir: string, work: () => Promise<T>): Promise<T> {
  makeSnapshotsFolder(snapshotsDir);
  const file = path.join(snapshotsDir, LOCK_FILE);
  const holderFile = `${file}.holder`;
  const lock = openLock(file);
  try {
    try {
      // The journal is in memory, because a killed run would leave a journal file behind. The mode OFF
      // has no effect: node:sqlite opens files in defensive mode, which ignores it.
      lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    } catch (cause) {
      if (!/locked|busy/i.test((cause as Error).message)) throw lockError(file, cause);
      throw new LockedError(
        `Another run${readHolder(holderFile)} is writing to ${snapshotsDir}. Wait for it to end.`,
        { cause },
      );
    }
    writeFileSync(holderFile, `${process.pid}\n`, { mode: 0o600 });
    return await work();
  } catch (error) {
    throw explainFullDisk(error, snapshotsDir);
  } finally {
    lock.close();
  }
}

/**
 * As {@link withRunLock}, but waits for as long as another process holds the lock.
 * @param onWait called once, if another process holds the lock
 */
export async function waitForLock<T>(
  snapshotsDir: string,
  work: () => Promise<T>,
  onWait: (error: LockedError) => void,
): Promise<T> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await withRunLock(snapshotsDir, work);
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
      if (isFirst) onWait(error);
      await setTimeout(WAITING_MS);
    }
  }
}

function openLock(file: string): DatabaseSync {
  try {
    // SQLite would apply the umask to its permissions. An existing file is not opened: closing it would
    // release any lock that this process holds on the file.
    if (!existsSync(file)) closeSync(openForWriting(file, 'a'));
    return new DatabaseSync(file, { timeout: 0 });
  } catch (cause) {
    throw lockError(file, cause);
  }
}

function lockError(file: string, cause: unknown): Error {
  return new Error(`lock ${file}: ${(cause as Error).message}`, { cause });
}

/** Which process holds the lock, for the error; empty until it has written its id. */
function readHolder(file: string): string {
  const id = tryToRead(file, LONGEST_HOLDER, (text) => text.trim());
  return id ? ` (process ${id})` : '';
}
