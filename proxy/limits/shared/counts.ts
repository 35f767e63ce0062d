/**
 * Counts what the shared limits of each serving thread do, for the metrics and `/readyz`. The counts are
 * in shared memory: each thread writes its own, and the first thread reads all of them.
 */

/** The positions of the counts of one thread. */
const CALLS = 0;
const FAILURES = 1;
const ASKED = 2;
const LOCAL = 3;
const REFUSED = 4;
const WAITED_MS = 5;
const SLOW = 6;
const REACHABLE = 7;
const PROXIES = 8;
const LENGTH = 9;

/** A request that waits longer is counted as slow. */
export const SLOW_MS = 10;

/** The counts of one thread. */
export interface LimitCells {
  /** Counts a command to the store. @param waitedMs how long its first request has waited */
  countCall(requests: number, waitedMs: number): void;
  countFailure(): void;
  /** Counts a request that this proxy decided alone. */
  countLocal(): void;
  /** Counts a request that was refused because the store could not be asked. */
  countRefused(): void;
  setState(isReachable: boolean, proxies: number): void;
}

/** The counts of all threads. */
export interface LimitTotals {
  readonly calls: number;
  readonly failures: number;
  readonly asked: number;
  readonly local: number;
  readonly refused: number;
  readonly waitedSeconds: number;
  readonly slow: number;
  /** Whether every thread can ask the store. */
  readonly isReachable: boolean;
  readonly proxies: number;
}

export function newLimitCells(): Float64Array {
  return new Float64Array(new SharedArrayBuffer(LENGTH * Float64Array.BYTES_PER_ELEMENT));
}

export function makeLimitCells(cells: Float64Array): LimitCells {
  return {
    countCall(requests, waitedMs) {
      cells[CALLS]++;
      cells[ASKED] += requests;
      cells[WAITED_MS] += waitedMs * requests;
      if (waitedMs > SLOW_MS) cells[SLOW] += requests;
    },
    countFailure() {
      cells[FAILURES]++;
    },
    countLocal() {
      cells[LOCAL]++;
    },
    countRefused() {
      cells[REFUSED]++;
    },
    setState(isReachable, proxies) {
      cells[REACHABLE] = Number(isReachable);
      cells[PROXIES] = proxies;
    },
  };
}

/** @param threads for each serving thread, its {@link newLimitCells} */
export function readLimitTotals(threads: readonly Float64Array[]): LimitTotals {
  const sum = (index: number) => threads.reduce((total, cells) => total + cells[index], 0);
  return {
    calls: sum(CALLS),
    failures: sum(FAILURES),
    asked: sum(ASKED),
    local: sum(LOCAL),
    refused: sum(REFUSED),
    waitedSeconds: sum(WAITED_MS) / 1000,
    slow: sum(SLOW),
    isReachable: threads.every((cells) => cells[REACHABLE] === 1),
    proxies: Math.max(...threads.map((cells) => cells[PROXIES])),
  };
}
