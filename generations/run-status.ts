/**
 * Reads and writes `status.json`. A run writes it at its end: how it and the runs before it ended, and
 * when each generation last agreed with the database.
 */
import path from 'node:path';
import { STATUS_FILE } from '../format/layout.ts';
import {
  type Agreement,
  type EndedRun,
  encodeStatus,
  LARGEST_STATUS_FILE,
  parseStatus,
  type RunStatus,
} from '../format/status-file.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';
import { utcNow } from '../program/utc-now.ts';
import { makeSnapshotsFolder } from './files/file-modes.ts';
import { replaceFile } from './files/replace-file.ts';
import { idsOnDisk } from './generations.ts';

/** How many of the runs before the last one are kept. */
const MOST_EARLIER = 19;

/** How a run ended. A run that published or found nothing new names the current generation. */
export type Ending =
  | { readonly outcome: 'published' | 'unchanged'; readonly id: string }
  | { readonly outcome: 'held' | 'refused' | 'failed'; readonly error: string };

/** @throws Error if the status of a run that published or found nothing new cannot be written */
export function saveStatus(snapshotsDir: string, end: Ending): void {
  const now = utcNow();
  try {
    const known = readStatus(snapshotsDir);
    makeSnapshotsFolder(snapshotsDir);
    const status: RunStatus = {
      finished_at: now,
      outcome: end.outcome,
      current_as_of: 'id' in end ? now : (known?.current_as_of ?? null),
      error: 'id' in end ? null : end.error,
      agreed: agreementsOf(snapshotsDir, known, 'id' in end ? { id: end.id, at: now } : undefined),
      earlier: known && runsOf(known).slice(0, MOST_EARLIER),
    };
    replaceFile(path.join(snapshotsDir, STATUS_FILE), encodeStatus(status));
  } catch (cause) {
    // A folder that cannot be written to must not hide why the run failed.
    if ('id' in end) throw cause;
  }
}

/** The agreement that this run found, and earlier ones of generations that still exist. */
function agreementsOf(
  snapshotsDir: string,
  known: RunStatus | undefined,
  found: Agreement | undefined,
): Agreement[] {
  const ids = idsOnDisk(snapshotsDir);
  const earlier = known?.agreed.filter(({ id }) => id !== found?.id && ids.includes(id)) ?? [];
  return found === undefined ? earlier : [found, ...earlier];
}

/** Notes that a generation agreed with the database when another one with the same content did. */
export function copyAgreement(snapshotsDir: string, from: string, to: string): void {
  const known = readStatus(snapshotsDir);
  const agreement = known?.agreed.find(({ id }) => id === from);
  if (known === undefined || agreement === undefined) return;
  const agreed = [{ ...agreement, id: to }, ...known.agreed];
  replaceFile(path.join(snapshotsDir, STATUS_FILE), encodeStatus({ ...known, agreed }));
}

/** The last run and those before it, the latest first. */
export function runsOf({ finished_at, outcome, earlier = [] }: RunStatus): EndedRun[] {
  return [{ finished_at, outcome }, ...earlier];
}

/** How the last run ended; undefined if no run has ended yet, or the file cannot be read. */
export function readStatus(snapshotsDir: string): RunStatus | undefined {
  const file = path.join(snapshotsDir, STATUS_FILE);
  try {
    return parseStatus(readBoundedFileSync(file, LARGEST_STATUS_FILE).toString('utf8'));
  } catch {
    return undefined;
  }
}
