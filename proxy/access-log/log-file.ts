/**
 * Writes the access log of all serving threads, to a file or to stdout. There is one writer in a process,
 * so lines are never mixed. Invariant: whatever happens to the file, every batch is done with after a
 * while, and what could not be written is counted.
 */
import { closeSync, constants, fstatSync, openSync, write as writeToDescriptor } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import type { Batch, HandOn } from './thread-lines.ts';

const writeAsync = promisify(writeToDescriptor);
const STDOUT = 1;
const LINE_FEED = 10;
// Without O_NONBLOCK, opening a named pipe would wait for a reader.
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** Addresses of clients are not for everybody. */
const MODE = 0o640;
/** How long to wait before writing to a full pipe again. */
const PAUSE_MS = 100;
/** A log that cannot keep up is reported at most this often. */
const REPORT_MS = 60_000;
/** When the proxy stops, it waits this long for the last lines. */
const LAST_LINES_MS = 1_000;

/** Writes some of the bytes, at least one. */
type Write = (descriptor: number, bytes: Buffer) => Promise<{ readonly bytesWritten: number }>;

export interface LogFile {
  readonly handOn: HandOn;
  /** Opens the file again, because it was renamed. Stdout stays as it is. */
  reopen(): void;
  /** How many lines were written, and how many were dropped here because writing failed. */
  lines(): { readonly written: number; readonly dropped: number };
  /** Why the last batch could not be written; empty if it could. */
  faults(): readonly string[];
  /** Writes what is left, within a second, and closes the file. */
  close(): Promise<void>;
}

/**
 * @param file empty for stdout
 * @param droppedByThreads how many lines the threads have dropped because this writer was too slow
 * @throws Error of the system if the file cannot be opened
 */
export function openLogFile(
  file: string,
  droppedByThreads: () => number,
  log: Logger,
  write: Write = writeAsync,
): LogFile {
  const name = file === '' ? 'stdout' : path.resolve(file);
  let descriptor = file === '' ? STDOUT : openToAppend(file);
  const queue: { readonly batch: Batch; readonly done: () => void }[] = [];
  let isWriting = false;
  let mustReopen = false;
  let onIdle: (() => void) | undefined;
  /** The rest of a line whose start is in the file. It is written first, so that the line is whole. */
  let torn: Buffer = Buffer.alloc(0);
  let written = 0;
  let dropped = 0;
  let fault: string | undefined;
  let reported = { dropped: 0, at: Number.NEGATIVE_INFINITY };

  async function writeQueue(): Promise<void> {
    isWriting = true;
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      reopenIfWanted();
      await writeBatch(next.batch);
      next.done();
    }
    reopenIfWanted();
    isWriting = false;
    onIdle?.();
  }

  async function writeBatch({ text, lines }: Batch): Promise<void> {
    const bytes = Buffer.concat([torn, Buffer.from(text)]);
    let at = 0;
    try {
      while (at < bytes.length) at += await writeSome(bytes.subarray(at));
      torn = Buffer.alloc(0);
      written += lines;
      noteSuccess();
    } catch (error) {
      const isWithinLine = at === 0 ? torn.length > 0 : bytes[at - 1] !== LINE_FEED;
      const lineEnd = isWithinLine ? bytes.indexOf(LINE_FEED, at) + 1 : at;
      torn = Buffer.from(bytes.subarray(at, lineEnd));
      const lost = countLines(bytes.subarray(lineEnd));
      dropped += lost;
      written += lines - lost;
      noteFailure(error as Error);
    }
  }

  /** @returns how many of the bytes were written, at least one */
  async function writeSome(bytes: Buffer): Promise<number> {
    for (;;) {
      try {
        return (await write(descriptor, bytes)).bytesWritten;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        await sleep(PAUSE_MS, undefined, { ref: false });
      }
    }
  }

  function noteFailure(error: Error): void {
    if (fault === undefined) {
      log.error({ err: error, file: name }, 'cannot write the access log; its lines are dropped');
    }
    fault = `The access log ${name} cannot be written: ${error.message}.`;
  }

  function noteSuccess(): void {
    const all = dropped + droppedByThreads();
    const lost = all - reported.dropped;
    const now = performance.now();
    if (fault !== undefined)
      log.info({ file: name, dropped: lost }, 'the access log can be written again');
    else if (lost === 0 || now - reported.at < REPORT_MS) return;
    else {
      log.warn(
        { file: name, dropped: lost },
        'the access log cannot be written fast enough; lines were dropped',
      );
    }
    fault = undefined;
    reported = { dropped: all, at: now };
  }

  function reopenIfWanted(): void {
    if (!mustReopen) return;
    mustReopen = false;
    try {
      const next = openToAppend(file);
      closeSync(descriptor);
      descriptor = next;
      if (torn.length > 0) torn = Buffer.alloc(0);
      log.info({ file: name }, 'opened the access log again');
    } catch (error) {
      log.error(
        { err: error, file: name },
        'cannot open the access log again; the old file stays open',
      );
    }
  }

  return {
    handOn(batch, done) {
      queue.push({ batch, done });
      if (!isWriting) void writeQueue();
    },
    reopen() {
      if (file === '') return;
      mustReopen = true;
      if (!isWriting) reopenIfWanted();
    },
    lines: () => ({ written, dropped }),
    faults: () => (fault === undefined ? [] : [fault]),
    async close() {
      if (isWriting) {
        const idle = new Promise<void>((resolve) => {
          onIdle = resolve;
        });
        await Promise.race([idle, sleep(LAST_LINES_MS)]);
      }
      if (file !== '' && !isWriting) closeSync(descriptor);
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

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines++;
  return lines;
}
