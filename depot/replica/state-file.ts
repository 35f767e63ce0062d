/**
 * Reads and writes `replica.json`. It is written at every check, so it is not synced: after a power cut
 * it may be damaged, and the next check replaces it.
 */
import { closeSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { REPLICA_FILE, UNFINISHED_PREFIX } from '../../format/layout.ts';
import {
  encodeReplicaState,
  LARGEST_REPLICA_FILE,
  parseReplicaState,
  type ReplicaState,
} from '../../format/replica-file.ts';
import { makeSnapshotsFolder, openForWriting } from '../../generations/files/file-modes.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';

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
  const next = path.join(snapshotsDir, `${UNFINISHED_PREFIX}${process.pid}-${REPLICA_FILE}`);
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
