/**
 * The log of a program or thread: lines of JSON on stderr, with times as RFC 3339 and named levels. If a line cannot
 * be written (a closed pipe, a full disk), it is dropped, so that the program can continue and end.
 */
import { write, writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';

const STDERR = 2;
/** How many characters may wait for a slow reader. Further lines are dropped. */
const MOST_WAITING = 4 * 2 ** 20;
/** How long to wait before writing to a full pipe again. */
const PAUSE_MS = 100;

/**
 * @param level as in LOG_LEVEL
 * @param base what every line contains instead of the process id and the host name
 */
export function makeLog(level: string, base?: Readonly<Record<string, unknown>>): Logger {
  const form = {
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino({ level, ...form, ...(base === undefined ? {} : { base }) }, writeTo(STDERR));
}

// Used instead of `pino.destination`, which throws when the disk is full and, at the end of the
// program, retries the last lines forever, regardless of the error. Writing synchronously would stop the
// program while the pipe is full.
function writeTo(descriptor: number) {
  let waiting = '';
  let isWriting = false;
  /** The bytes for which a full pipe had no room. */
  let unwritten: Buffer | undefined;

  function writeNext(rest?: Buffer): void {
    unwritten = undefined;
    isWriting = rest !== undefined || waiting !== '';
    if (!isWriting) return;
    const bytes = rest ?? Buffer.from(waiting);
    if (rest === undefined) waiting = '';
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        unwritten = bytes;
        setTimeout(writeNext, PAUSE_MS, bytes).unref();
      } else if (error === null && written < bytes.length) writeNext(bytes.subarray(written));
      else writeNext();
    });
  }

  // Writes what is still waiting, when the program ends; a full pipe takes only a part of it. Node ends after the
  // write that is under way.
  process.on('exit', () => {
    try {
      writeSync(descriptor, Buffer.concat([unwritten ?? Buffer.alloc(0), Buffer.from(waiting)]));
    } catch {
      // Nobody can read it.
    }
  });

  return {
    write(line: string): void {
      if (waiting.length > MOST_WAITING) return;
      waiting += line;
      if (!isWriting) writeNext();
    },
  };
}
