/**
 * Reads from the files beside the generations how old the data in service are, and whether an operator
 * holds publishing. A file that is missing or damaged never stops the service.
 */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { LARGEST_HOLD_FILE, parseHold } from '../../format/hold-file.ts';
import { GENERATIONS, HOLD_FILE, STATUS_FILE } from '../../format/layout.ts';
import { LARGEST_STATUS_FILE, parseStatus } from '../../format/status-file.ts';
import { explainUnreadable } from '../../program/unreadable.ts';

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
  try {
    const status = parseStatus(
      await readSmallFile(path.join(snapshotsDir, STATUS_FILE), LARGEST_STATUS_FILE),
    );
    const agreement = status.agreed.find((one) => one.id === id);
    if (agreement !== undefined) return Date.parse(agreement.at);
  } catch {
    // No run has ended yet, or the file is damaged or of an older version.
  }
  try {
    return (await stat(path.join(snapshotsDir, GENERATIONS, id))).mtimeMs;
  } catch {
    // The generation was removed while it is in service.
    return undefined;
  }
}

/** @returns undefined when publishing is not held */
export async function readHeld(snapshotsDir: string): Promise<Held | undefined> {
  const file = path.join(snapshotsDir, HOLD_FILE);
  try {
    const { id, since, reason } = parseHold(await readSmallFile(file, LARGEST_HOLD_FILE));
    return { id, since, reason };
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    // Absent, or in a folder that cannot be entered, which the faults of other files report.
    if (code === 'ENOENT' || syscall === 'stat') return undefined;
    const { message } = await explainUnreadable(error, file);
    return { id: null, since: null, reason: null, error: message };
  }
}

async function readSmallFile(file: string, largest: number): Promise<string> {
  const { size } = await stat(file);
  if (size > largest) {
    throw new Error(`${path.basename(file)} is damaged: it is larger than ${largest} bytes.`);
  }
  return readFile(file, 'utf8');
}
