/** The small files that say how the last run went (`status.json`), and how a replica is doing (`replica.json`). */
import path from 'node:path';
import { LARGEST_JSON_FILE } from '../format/json/parse-file.ts';
import { REPLICA_FILE, STATUS_FILE } from '../format/layout.ts';
import { type ReplicaState, replicaFile } from '../format/replica-file.ts';
import { type RunStatus, statusFile } from '../format/status-file.ts';
import { tryToRead } from '../program/files/bounded-file.ts';
import { utcNow } from '../program/utc-now.ts';
import { makeSnapshotsFolder } from './files/file-modes.ts';
import { replaceFile } from './files/replace-file.ts';

/** What status.json says of the last run. One that published or found nothing new names the current generation. */
export type StatusEntry =
  | { readonly outcome: 'published' | 'unchanged'; readonly id: string }
  | { readonly outcome: 'held' | 'refused' | 'failed'; readonly error: string };

/** @throws Error if the status of a run that published or found nothing new cannot be written */
export function saveStatus(snapshotsDir: string, end: StatusEntry): void {
  const finished_at = utcNow();
  try {
    makeSnapshotsFolder(snapshotsDir);
    const { id = null, current_as_of = null } = readStatus(snapshotsDir) ?? {};
    const status =
      'id' in end
        ? { finished_at, ...end, current_as_of: finished_at, error: null }
        : { finished_at, ...end, id, current_as_of };
    replaceFile(path.join(snapshotsDir, STATUS_FILE), statusFile.encode(status));
  } catch (cause) {
    // A folder that cannot be written to must not hide why the run failed.
    if ('id' in end) throw cause;
  }
}

/** How the last run ended; undefined if no run has ended yet, or the file cannot be read. */
export function readStatus(snapshotsDir: string): RunStatus | undefined {
  return tryToRead(path.join(snapshotsDir, STATUS_FILE), LARGEST_JSON_FILE, statusFile.parse);
}

/** @returns undefined if there is no replica in the folder, or its file cannot be read */
export function readReplicaState(snapshotsDir: string): ReplicaState | undefined {
  return tryToRead(path.join(snapshotsDir, REPLICA_FILE), LARGEST_JSON_FILE, replicaFile.parse);
}

/** @throws Error if the file cannot be written */
export function saveReplicaState(snapshotsDir: string, state: ReplicaState): void {
  makeSnapshotsFolder(snapshotsDir);
  // Written at every check, so not synced: without it, the ages are unknown until the next check.
  const file = path.join(snapshotsDir, REPLICA_FILE);
  replaceFile(file, replicaFile.encode(state), { isSynced: false });
}
