/** Reads and writes `replica.json`, the state of a replica. */
import path from 'node:path';
import { REPLICA_FILE } from '../format/layout.ts';
import {
  encodeReplicaState,
  LARGEST_REPLICA_FILE,
  parseReplicaState,
  type ReplicaState,
} from '../format/replica-file.ts';
import { makeSnapshotsFolder } from '../generations/files/file-modes.ts';
import { replaceFile } from '../generations/files/replace-file.ts';
import { tryToRead } from '../program/files/bounded-file.ts';

/** @returns undefined if there is no replica in the folder, or its file cannot be read */
export function readReplicaState(snapshotsDir: string): ReplicaState | undefined {
  return tryToRead(path.join(snapshotsDir, REPLICA_FILE), LARGEST_REPLICA_FILE, parseReplicaState);
}

/** @throws Error if the file cannot be written */
export function saveReplicaState(snapshotsDir: string, state: ReplicaState): void {
  makeSnapshotsFolder(snapshotsDir);
  // Written at every check, so not synced: without it, the ages are unknown until the next check.
  const file = path.join(snapshotsDir, REPLICA_FILE);
  replaceFile(file, encodeReplicaState(state), { isSynced: false });
}
