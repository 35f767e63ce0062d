/**
 * Finds out how old the data in service is, and whether an operator holds publishing. Both come from
 * files in the snapshots folder. A file that is missing or damaged never stops the service.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { GENERATIONS, HOLD_FILE } from '../../format/layout.ts';
import { explainUnreadable } from '../../program/file-access.ts';
import { readHoldFile } from '../../store/read-hold.ts';
import { readStatus } from '../../store/run-status.ts';

/** An operator holds publishing. If the hold file cannot be read, `error` says why; all else is null. */
export interface Held {
  readonly id: string | null;
  readonly since: string | null;
  readonly reason: string | null;
  readonly error?: string;
}

/**
 * When a run of the generator last found that a generation agrees with the database, in milliseconds
 * of the wall clock. If no such run is on record, the modification time of the generation's folder.
 */
export async function readDataTime(snapshotsDir: string, id: string): Promise<number | undefined> {
  const agreement = readStatus(snapshotsDir)?.agreed.find((entry) => entry.id === id);
  if (agreement !== undefined) return Date.parse(agreement.at);
  try {
    return (await stat(path.join(snapshotsDir, GENERATIONS, id))).mtimeMs;
  } catch {
    // The folder of the generation in service was removed.
    return undefined;
  }
}

/** @returns undefined when publishing is not held */
export async function readHeld(snapshotsDir: string): Promise<Held | undefined> {
  try {
    const hold = readHoldFile(snapshotsDir);
    return hold && { id: hold.id, since: hold.since, reason: hold.reason };
  } catch (error) {
    const { message } = await explainUnreadable(error, path.join(snapshotsDir, HOLD_FILE));
    return { id: null, since: null, reason: null, error: message };
  }
}
