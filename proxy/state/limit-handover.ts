/**
 * Passes the requests that still count from one run of the proxy to the next, in a file: a restart must
 * not give every key its full limit again. If anything is wrong with the file, the proxy starts without
 * it. A proxy that is killed does not write the file.
 */
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import { limitWindowsFile } from '../../format/layout.ts';
import { readBoundedFile } from '../../program/files/bounded-file.ts';
import { decodeWindows, encodeWindows, type Moment, type Windows } from '../limits/handover.ts';
import type { InstanceFiles } from './instance-files.ts';

/** In bytes; enough for over 30 million requests within a minute. */
const LARGEST_FILE = 64 * 1024 * 1024;
/** The file is private even in a shared folder: other users must not see how many requests a client sends. */
const PRIVATE = 0o600;

export interface LimitHandover {
  /** The windows that the previous run wrote; undefined if nothing in them still counts. */
  read(): Promise<Windows | undefined>;
  /** Removes the file. Call it once this run has begun to count requests. */
  clear(): Promise<void>;
  write(windows: Windows): Promise<void>;
}

/**
 * @param port PORT of the proxy; with 0 (any free port) there is no file, since the next start gets
 * another port
 * @param clock returns the present time by several clocks
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
    // A copy, since the columns must start at a multiple of 8 in their buffer.
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
        log.info(counts, 'the limits continue from where the last run ended');
        return windows;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        log.warn({ err: error }, 'the limits start from zero');
        return undefined;
      }
    },
    async clear() {
      // If the file cannot be removed, only a restart within the next minute would still use it.
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
        log.warn({ err: error }, 'cannot save the limits: they start from zero after the restart');
      }
    },
  };
}

/** The id of this boot of the system, from which the monotonic clock counts; empty if unknown. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
