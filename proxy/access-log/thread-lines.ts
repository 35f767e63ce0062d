/**
 * Collects the lines of one serving thread and hands them on in batches, so that a request only appends
 * to a text in memory. Invariant: at most one batch is under way and at most {@link MOST_WAITING} more
 * characters wait. Further lines are dropped and counted: a slow disk costs lines, never requests.
 */

import { setTimeout as sleep } from 'node:timers/promises';

/** A batch is handed on after this time, or as soon as it is this large. */
const LONGEST_WAIT_MS = 200;
const BATCH = 64 * 1024;
export const MOST_WAITING = 2 ** 20;
/** When the proxy stops, it waits this long for a disk that does not take the last lines. */
const LAST_LINES_MS = 1_000;

export interface Batch {
  readonly text: string;
  readonly lines: number;
}

/** @param done must be called once the batch was written or dropped */
export type HandOn = (batch: Batch, done: () => void) => void;

export interface ThreadLines {
  /** @param line with its line feed */
  add(line: string): void;
  /** Resolves when every line was written or dropped, or after a second. */
  finish(): Promise<void>;
}

/** The number of lines that a thread has dropped, in memory that the first thread reads. */
export function newDropCount(): Float64Array {
  return new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
}

/** @param dropped from {@link newDropCount} */
export function makeThreadLines(handOn: HandOn, dropped: Float64Array): ThreadLines {
  let text = '';
  let lines = 0;
  let isUnderWay = false;
  let timer: NodeJS.Timeout | undefined;
  let onFinished: (() => void) | undefined;

  function handOnNext(): void {
    clearTimeout(timer);
    timer = undefined;
    if (isUnderWay) return;
    if (lines === 0) {
      onFinished?.();
      return;
    }
    const batch = { text, lines };
    text = '';
    lines = 0;
    isUnderWay = true;
    handOn(batch, () => {
      isUnderWay = false;
      if (onFinished !== undefined || text.length >= BATCH) handOnNext();
      else if (lines > 0) timer ??= setTimeout(handOnNext, LONGEST_WAIT_MS);
    });
  }

  return {
    add(line) {
      if (text.length + line.length > MOST_WAITING) {
        dropped[0]++;
        return;
      }
      text += line;
      lines++;
      if (text.length >= BATCH) handOnNext();
      else if (!isUnderWay) timer ??= setTimeout(handOnNext, LONGEST_WAIT_MS);
    },
    async finish() {
      const finished = new Promise<void>((resolve) => {
        onFinished = resolve;
        handOnNext();
      });
      await Promise.race([finished, sleep(LAST_LINES_MS)]);
    },
  };
}
