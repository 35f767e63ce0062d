/**
 * Writes the access log of all serving threads, to a file or to stdout. There is one writer in a process,
 * so lines are never mixed, and a reader of stdout that stands still holds at most one thread of Node's
 * pool. While the disk is full or too slow, lines wait in bounded memory; further ones are dropped and
 * counted.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import sonicBoom, { type SonicBoom } from 'sonic-boom';

const STDOUT = 1;
// Without O_NONBLOCK, opening a named pipe would wait for a reader.
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** Addresses of clients are not for everybody. */
const MODE = 0o640;
/** In bytes: how much may wait. */
const MOST_WAITING = 2 ** 20;
const MOST_AT_ONCE = 256 * 1024;
/** How often a write that has failed is repeated. */
const RETRY_MS = 200;
/** A log that cannot keep up is reported at most this often. */
const REPORT_MS = 60_000;
/** When the proxy stops, it waits this long for the last lines. */
const LAST_LINES_MS = 1_000;

/**
 * @param file empty for stdout
 * @throws Error of the system if the file cannot be opened
 */
export function openLogFile(file: string, log: Logger) {
  const name = file === '' ? 'stdout' : path.resolve(file);
  let dropped = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let fault: string | undefined;
  let output = open(file === '' ? STDOUT : openToAppend(file));

  function open(fd: number): SonicBoom {
    const options = { fd, maxLength: MOST_WAITING, maxWrite: MOST_AT_ONCE };
    // A flush repeats a write that has failed. Without a least length, it would do nothing.
    const opened = new sonicBoom.SonicBoom({ ...options, minLength: 1, periodicFlush: RETRY_MS });
    opened.on('drop', (text: string) => {
      dropped += text.split('\n').length - 1;
      if (performance.now() - reportedAt < REPORT_MS) return;
      reportedAt = performance.now();
      const message = 'the access log cannot be written fast enough; lines are dropped';
      log.warn({ file: name, dropped }, message);
    });
    opened.on('error', (error: Error) => {
      if (fault === undefined) log.error({ err: error, file: name }, 'cannot write the access log');
      fault = `The access log ${name} cannot be written: ${error.message}.`;
    });
    opened.on('write', () => {
      if (fault === undefined) return;
      fault = undefined;
      log.info({ file: name, dropped }, 'the access log can be written again');
    });
    return opened;
  }

  return {
    /** @param text whole lines */
    write: (text: string): void => void output.write(text),
    /** Opens the file again, because it was renamed. Stdout stays as it is. */
    reopen(): void {
      if (file === '') return;
      try {
        // Not its own `reopen`: after one that has failed, the next closes a descriptor twice (4.2.1).
        const next = open(openToAppend(file));
        output.end();
        output = next;
        log.info({ file: name }, 'opened the access log again');
      } catch (error) {
        const message = 'cannot open the access log again; the old file stays open';
        log.error({ err: error, file: name }, message);
      }
    },
    /** How many lines were dropped. */
    dropped: () => dropped,
    /** Why the last lines could not be written; empty if they could. */
    faults: () => (fault === undefined ? [] : [fault]),
    /** Writes what is left, within a second, and closes the file. */
    async close(): Promise<void> {
      const closed = new Promise((resolve) => output.once('close', resolve));
      output.end();
      await Promise.race([closed, sleep(LAST_LINES_MS, undefined, { ref: false })]);
    },
  };
}

/**
 * Checks that a file can be written, and creates it.
 * @throws Error that continues a sentence that begins with the name of the variable
 */
export function checkLogFile(file: string): void {
  if (file === '') return;
  try {
    closeSync(openToAppend(file));
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(
      `is ${path.resolve(file)}, which cannot be written: ${message}. Correct the path, or let the user of the proxy write there.`,
      { cause },
    );
  }
}

/** @throws Error of the system, or one that says that the path is not a regular file */
function openToAppend(file: string): number {
  const descriptor = openSync(file, FLAGS, MODE);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new Error('it is not a regular file');
}
