/**
 * The log of a program or thread: lines of JSON on stderr. If a line cannot be written (a closed pipe,
 * a full disk), it is dropped, so that the program can continue and end.
 */
import { write, writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';

const STDERR = 2;
/** How many characters may wait for a slow reader. Further lines are dropped. */
const MOST_WAITING = 4 * 2 ** 20;
/** How long to wait before writing to a full pipe again. */
const PAUSE_MS = 100;
/** When the program ends: how many times to write to a full pipe again. */
const LAST_TRIES = 10;

/**
 * @param level as in LOG_LEVEL
 * @param base what every line contains instead of the process id and the host name
 */
export function makeLog(level: string, base?: Readonly<Record<string, unknown>>): Logger {
  return pino({ level, ...(base === undefined ? {} : { base }) }, writeTo(STDERR));
}

// Used instead of `pino.destination`, which throws when the disk is full and, at the end of the
// program, retries the last lines forever, regardless of the error.
function writeTo(descriptor: number) {
  let waiting = '';
  let isWriting = false;
  /** The bytes that a full pipe has refused and that will be written again. */
  let refused: Buffer | undefined;

  function writeNext(): void {
    isWriting = waiting !== '';
    if (!isWriting) return;
    const bytes = Buffer.from(waiting);
    waiting = '';
    writeAll(bytes);
  }

  function writeAll(bytes: Buffer): void {
    refused = undefined;
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        refused = bytes;
        setTimeout(
          () => (refused === undefined ? writeNext() : writeAll(refused)),
          PAUSE_MS,
        ).unref();
      } else if (error === null && written < bytes.length) writeAll(bytes.subarray(written));
      else writeNext();
    });
  }

  /** Writes what is still waiting, when the program ends. */
  function flushSync(): void {
    let bytes = Buffer.concat([refused ?? Buffer.alloc(0), Buffer.from(waiting)]);
    refused = undefined;
    waiting = '';
    for (let tries = 0; bytes.length > 0; ) {
      try {
        bytes = bytes.subarray(writeSync(descriptor, bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || ++tries > LAST_TRIES) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
      }
    }
  }
  process.on('exit', flushSync);

  return {
    write(line: string): void {
      if (waiting.length > MOST_WAITING) return;
      waiting += line;
      if (!isWriting) writeNext();
    },
    flushSync,
  };
}
