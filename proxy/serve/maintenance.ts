/**
 * Maintenance mode: while the file `maintenance` is in the snapshots folder, the API answers 503. Its
 * content may be the number of seconds for `Retry-After`.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import type { Logger } from 'pino';
import { MAINTENANCE_FILE } from '../../lib/format/layout.ts';
import { readBoundedFileSync } from '../../lib/program/files/bounded-file.ts';

const DEFAULT_SECONDS = 60;
const MOST_SECONDS = 86_400;
const LARGEST_FILE = 1024;

/** @param announce called with the new seconds, to send them to the serving threads */
export function makeMaintenance(
  snapshotsDir: string,
  announce: (seconds: number) => Promise<unknown>,
  log: Logger,
) {
  let seconds = 0;

  async function set(next: number): Promise<void> {
    const before = seconds;
    if (next !== before) await announce(next);
    seconds = next;
    if ((seconds === 0) === (before === 0)) return;
    log.warn({ retry_after: seconds }, `maintenance has ${seconds > 0 ? 'begun' : 'ended'}`);
  }

  return {
    /** The seconds for `Retry-After`; 0 without maintenance. */
    seconds: () => seconds,
    /**
     * Looks for the file.
     * @throws Error if its content is not a number of seconds; maintenance is on nevertheless
     */
    async refresh(): Promise<void> {
      try {
        await set(readSeconds(path.join(snapshotsDir, MAINTENANCE_FILE)));
      } catch (cause) {
        await set(DEFAULT_SECONDS);
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
