/**
 * Maintenance mode: while the file `maintenance` is in the snapshots folder, the API answers 503. Its
 * content may be the number of seconds for `Retry-After`. The state is in memory that all threads share.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { MAINTENANCE_FILE } from '../format/layout.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';

const DEFAULT_SECONDS = 60;
const MOST_SECONDS = 86_400;
const LARGEST_FILE = 1024;

/** The seconds for `Retry-After`; 0 without maintenance. */
export function newMaintenanceCell(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/**
 * @param cell from {@link newMaintenanceCell}
 * @param changed called when maintenance begins or ends
 */
export function makeMaintenanceFile(
  snapshotsDir: string,
  cell: Int32Array,
  changed: (seconds: number) => void,
) {
  const file = path.join(snapshotsDir, MAINTENANCE_FILE);

  function set(seconds: number): void {
    const before = cell[0];
    cell[0] = seconds;
    if ((before === 0) !== (seconds === 0)) changed(seconds);
  }

  return {
    /**
     * Looks for the file.
     * @throws Error if its content is not a number of seconds; maintenance is on nevertheless
     */
    async refresh(): Promise<void> {
      try {
        set(readSeconds(file));
      } catch (cause) {
        set(DEFAULT_SECONDS);
        const { message } = cause as Error;
        throw new Error(`${message} Retry-After is ${DEFAULT_SECONDS}.`, { cause });
      }
    },
  };
}

/** @returns 0 without maintenance @throws Error if the content is not a number of seconds */
function readSeconds(file: string): number {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return 0;
  const text = readBoundedFileSync(file, LARGEST_FILE).toString('utf8').trim();
  if (text === '') return DEFAULT_SECONDS;
  const seconds = /^\d+$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MOST_SECONDS) return seconds;
  throw new Error(
    `${MAINTENANCE_FILE} must be empty or a number of seconds from 1 to ${MOST_SECONDS}, not ${JSON.stringify(text.slice(0, 80))}.`,
  );
}
