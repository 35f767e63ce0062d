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

export interface MaintenanceFile {
  /**
   * Looks for the file.
   * @throws Error if its content is not a number of seconds; maintenance is on nevertheless
   */
  refresh(): Promise<void>;
}

/**
 * @param cell from {@link newMaintenanceCell}
 * @param changed called when maintenance begins or ends
 */
export function makeMaintenanceFile(
  snapshotsDir: string,
  cell: Int32Array,
  changed: (seconds: number) => void,
): MaintenanceFile {
  const file = path.join(snapshotsDir, MAINTENANCE_FILE);

  function set(seconds: number): void {
    const before = cell[0] ?? 0;
    cell[0] = seconds;
    if ((before === 0) !== (seconds === 0)) changed(seconds);
  }

  return {
    async refresh() {
      if (statSync(file, { throwIfNoEntry: false }) === undefined) {
        set(0);
        return;
      }
      let text = '';
      try {
        text = readBoundedFileSync(file, LARGEST_FILE).toString('utf8').trim();
      } catch (cause) {
        set(DEFAULT_SECONDS);
        throw new Error(
          `${MAINTENANCE_FILE} cannot be read: ${(cause as Error).message} Retry-After is ${DEFAULT_SECONDS}.`,
          { cause },
        );
      }
      const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0;
      const isAllowed = seconds >= 1 && seconds <= MOST_SECONDS;
      set(isAllowed ? seconds : DEFAULT_SECONDS);
      if (!isAllowed && text !== '') {
        throw new Error(
          `${MAINTENANCE_FILE} must be empty or a number of seconds from 1 to ${MOST_SECONDS}, not ${JSON.stringify(text.slice(0, 80))}. Retry-After is ${DEFAULT_SECONDS}.`,
        );
      }
    },
  };
}
