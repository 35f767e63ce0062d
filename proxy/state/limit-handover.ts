/**
 * Hands the requests that still count from one run of the proxy to the next, through a file: a
 * restart must not give every key its whole limit again. If anything is wrong with the file, the
 * proxy starts without it. A run that is killed hands nothing over.
 */
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import { limitWindowsFile } from '../../format/layout.ts';
import { readBoundedFile } from '../../program/files/bounded-file.ts';
import { decodeWindows, encodeWindows, type Moment, type Windows } from '../limits/handover.ts';
import type { InstanceFiles } from './instance-files.ts';

/** In bytes: over 30 million requests in a minute. */
const LARGEST_FILE = 64 * 1024 * 1024;
/** Even in a shared folder: how often a client asks is nobody else's business. */
const PRIVATE = 0o600;

export interface LimitHandover {
  /** What the previous run handed over; undefined: nothing that still counts. */
  read(): Promise<Windows | undefined>;
  /** Removes what was read, once this run has begun to count. */
  clear(): Promise<void>;
  write(windows: Windows): Promise<void>;
}

/**
 * @param port PORT of the proxy; with 0 (any free port) nothing is handed over, as the next start has
 * another port
 * @param clock the present time by every clock
 */
export function makeLimitHandover(
  files: InstanceFiles,
  port: number,
  clock: () => Moment,
  log: Logger,
): LimitHandover {
  const name = limitWindowsFile(port);
  const file = files.pathOf(name);

  async function readWindows(): Promise<Windows | undefined> {
    // A copy, since the columns have to start at a multiple of 8.
    const bytes = new Uint8Array(await readBoundedFile(file, LARGEST_FILE));
    return decodeWindows(bytes, file, clock());
  }

  return {
    async read() {
      if (port === 0) return undefined;
      try {
        const windows = await readWindows();
        if (windows === undefined) return undefined;
        const { keys, addresses } = windows;
        const counts = { keys: keys.length, addresses: addresses.windows.length };
        log.info(counts, 'the limits go on from where the last run ended');
        return windows;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        log.warn({ err: error }, 'the limits start from zero');
        return undefined;
      }
    },
    async clear() {
      // A file that cannot be removed is soon too old to count; only an immediate restart reads it.
      if (port !== 0) await rm(file, { force: true }).catch(() => {});
    },
    async write(windows) {
      if (port === 0 || (windows.keys.length === 0 && windows.addresses.windows.length === 0))
        return;
      try {
        const bytes = encodeWindows(windows, clock());
        if (bytes.length > LARGEST_FILE) throw new Error(`it would take ${bytes.length} bytes`);
        if (await files.prepare()) await files.replace(name, bytes, PRIVATE);
      } catch (error) {
        log.warn({ err: error }, 'the limits are not handed over: the next start begins from zero');
      }
    },
  };
}

/** Identifies the start of the system that its monotonic clock counts from; empty: unknown. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
