/**
 * Reads from the files beside the generations how old the data in service are, and whether an operator
 * holds publishing. A file that is missing or damaged never stops the service.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { GENERATIONS, HOLD_FILE } from '../../format/layout.ts';
import { explainUnreadable } from '../../program/unreadable.ts';
import { readHoldFile } from '../../store/read-hold.ts';
import { readStatus } from '../../store/run-status.ts';

/** Publishing is held. With `error` the file cannot be read, and all else is null. */
export interface Held {
  readonly id: string | null;
  readonly since: string | null;
  readonly reason: string | null;
  readonly error?: string;
}

/**
 * When a run last found a generation to agree with the database, in milliseconds of the wall clock. If
 * no run is known to, when the generation was published: its data are never older than that.
 */
export async function readDataTime(snapshotsDir: string, id: string): Promise<number | undefined> {
  const agreement = readStatus(snapshotsDir)?.agreed.find((one) => one.id === id);
  if (agreement !== undefined) return Date.parse(agreement.at);
  try {
    return (await stat(path.join(snapshotsDir, GENERATIONS, id))).mtimeMs;
  } catch {
    // The generation was removed while it is in service.
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
