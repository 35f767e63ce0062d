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
import type { ErrorWithExitCode } from '../program/failure.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';
import { correctMode, makeSnapshotsFolder, openForWriting } from './files/file-modes.ts';

/** In bytes. The file contains a process id. */
const LARGEST_HOLDER_FILE = 64;
const HOLDER_ATTEMPTS = 20;
const HOLDER_PAUSE_MS = 25;

/** Another process is writing into the snapshots folder. */
export class LockedError extends Error implements ErrorWithExitCode {
  override readonly name = 'LockedError';
  readonly exitCode = 4;
}

type Pause = (milliseconds: number) => Promise<unknown>;

/**
 * Holds the lock while `work` runs.
 * @param pause waits before the id of the other process is read again
 * @throws LockedError at once if another process holds the lock
 */
export async function withLock<T>(
  snapshotsDir: string,
  work: () => Promise<T>,
  pause: Pause = setTimeout,
): Promise<T> {
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
        `Another run (process ${await readHolder(holderFile, pause)}) is writing to ${snapshotsDir}. Wait for it to end.`,
        { cause },
      );
    }
    writeHolder(holderFile);
    return await work();
  } finally {
    lock.close();
  }
}

const WAITING_MS = 100;

/**
 * As {@link withLock}, but waits for as long as another process holds the lock.
 * @param onWait called once, if another process holds the lock
 */
export async function waitForLock<T>(
  snapshotsDir: string,
  work: () => Promise<T>,
  onWait: (error: LockedError) => void,
): Promise<T> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await withLock(snapshotsDir, work);
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
      if (isFirst) onWait(error);
      await setTimeout(WAITING_MS);
    }
  }
}

function openLock(file: string): DatabaseSync {
  try {
    createLockFile(file);
    return new DatabaseSync(file, { timeout: 0 });
  } catch (cause) {
    throw lockError(file, cause);
  }
}

/**
 * Creates the lock file, because SQLite would apply the umask to its permissions. Does not open an
 * existing file: closing it would release any lock that this process holds on the file.
 */
function createLockFile(file: string): void {
  if (existsSync(file)) correctMode(file);
  else closeSync(openForWriting(file, 'a'));
}

function writeHolder(file: string): void {
  const descriptor = openForWriting(file, 'w');
  try {
    writeFileSync(descriptor, `${process.pid}\n`);
  } finally {
    closeSync(descriptor);
  }
}

function lockError(file: string, cause: unknown): Error {
  return new Error(`lock ${file}: ${(cause as Error).message}`, { cause });
}

/**
 * A holder takes the lock first and writes its process id then, so this reads again for a moment if the
 * file has none yet.
 */
async function readHolder(file: string, pause: Pause): Promise<string> {
  for (let attempt = 0; attempt < HOLDER_ATTEMPTS; attempt++) {
    if (attempt > 0) await pause(HOLDER_PAUSE_MS);
    const id = readHolderOnce(file);
    if (id !== '') return id;
  }
  return 'unknown';
}

/** @returns the process id; empty before the holder has written it */
function readHolderOnce(file: string): string {
  try {
    return readBoundedFileSync(file, LARGEST_HOLDER_FILE).toString('utf8').trim();
  } catch {
    return '';
  }
}
