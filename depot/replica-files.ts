/**
 * Reads and writes the files of a replica: `accepted.json`, which a power cut must not lose, and
 * `replica.json`, which is written at every check and therefore not synced.
 */
import { closeSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  type Accepted,
  encodeAccepted,
  LARGEST_ACCEPTED_FILE,
  parseAccepted,
} from '../format/accepted-file.ts';
import { ACCEPTED_FILE, REPLICA_FILE } from '../format/layout.ts';
import {
  encodeReplicaState,
  LARGEST_REPLICA_FILE,
  parseReplicaState,
  type ReplicaState,
} from '../format/replica-file.ts';
import { makeSnapshotsFolder, openForWriting } from '../generations/files/file-modes.ts';
import { replaceFile } from '../generations/files/replace-file.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';

/**
 * What was accepted last; nothing before the first time.
 * @throws Error if the file cannot be read: nothing may be accepted then
 */
export function readAccepted(snapshotsDir: string): Accepted {
  const file = path.join(snapshotsDir, ACCEPTED_FILE);
  try {
    return parseAccepted(readBoundedFileSync(file, LARGEST_ACCEPTED_FILE).toString('utf8'));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { snapshot: null, keys: null };
    throw new Error(
      `${message.replace(/\.?$/, '.')} Nothing new is accepted, because it could be older than what was accepted before. If the depot can be trusted, remove ${file}.`,
      { cause },
    );
  }
}

/** Replaces one of the two members. */
export function saveAccepted(snapshotsDir: string, newer: Partial<Accepted>): void {
  const accepted = { ...readAccepted(snapshotsDir), ...newer };
  makeSnapshotsFolder(snapshotsDir);
  replaceFile(path.join(snapshotsDir, ACCEPTED_FILE), encodeAccepted(accepted));
}

/** @returns undefined if there is no replica in the folder, or its file cannot be read */
export function readReplicaState(snapshotsDir: string): ReplicaState | undefined {
  const file = path.join(snapshotsDir, REPLICA_FILE);
  try {
    return parseReplicaState(readBoundedFileSync(file, LARGEST_REPLICA_FILE).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** @throws Error if the file cannot be written */
export function saveReplicaState(snapshotsDir: string, state: ReplicaState): void {
  makeSnapshotsFolder(snapshotsDir);
  const file = path.join(snapshotsDir, REPLICA_FILE);
  const next = `${file}.${process.pid}`;
  try {
    rmSync(next, { recursive: true, force: true });
    const descriptor = openForWriting(next, 'wx');
    try {
      writeFileSync(descriptor, encodeReplicaState(state));
    } finally {
      closeSync(descriptor);
    }
    renameSync(next, file);
  } catch (cause) {
    rmSync(next, { recursive: true, force: true });
    throw new Error(`write ${REPLICA_FILE}: ${(cause as Error).message}`, { cause });
  }
}
