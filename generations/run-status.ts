/** Reads and writes `status.json`. A run writes it at its end. */
import path from 'node:path';
import { STATUS_FILE } from '../format/layout.ts';
import {
  encodeStatus,
  LARGEST_STATUS_FILE,
  parseStatus,
  type RunStatus,
} from '../format/status-file.ts';
import { tryToRead } from '../program/files/bounded-file.ts';
import { utcNow } from '../program/utc-now.ts';
import { makeSnapshotsFolder } from './files/file-modes.ts';
import { replaceFile } from './files/replace-file.ts';

/** How a run ended. A run that published or found nothing new names the current generation. */
export type Ending =
  | { readonly outcome: 'published' | 'unchanged'; readonly id: string }
  | { readonly outcome: 'held' | 'refused' | 'failed'; readonly error: string };

/** @throws Error if the status of a run that published or found nothing new cannot be written */
export function saveStatus(snapshotsDir: string, end: Ending): void {
  const finished_at = utcNow();
  try {
    makeSnapshotsFolder(snapshotsDir);
    const { id = null, current_as_of = null } = readStatus(snapshotsDir) ?? {};
    const status =
      'id' in end
        ? { finished_at, ...end, current_as_of: finished_at, error: null }
        : { finished_at, ...end, id, current_as_of };
    replaceFile(path.join(snapshotsDir, STATUS_FILE), encodeStatus(status));
  } catch (cause) {
    // A folder that cannot be written to must not hide why the run failed.
    if ('id' in end) throw cause;
  }
}

/** How the last run ended; undefined if no run has ended yet, or the file cannot be read. */
export function readStatus(snapshotsDir: string): RunStatus | undefined {
  return tryToRead(path.join(snapshotsDir, STATUS_FILE), LARGEST_STATUS_FILE, parseStatus);
}
