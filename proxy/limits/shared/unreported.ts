/**
 * The requests that this thread admitted without the store, and that the store must be told before it
 * is asked again. Requests older than 60 seconds are forgotten, because they no longer count.
 */
import { WINDOW_MS } from '../rolling-window.ts';

export interface WindowTimes {
  /** The name of the window in the whole fleet. */
  readonly name: string;
  /** When its requests were admitted, by the clock of this proxy. */
  readonly times: readonly number[];
}

export interface Unreported {
  note(name: string, time: number): void;
  isEmpty(): boolean;
  /** Removes and returns all requests that still count. */
  take(): WindowTimes[];
  /** Adds requests that were taken but not reported. */
  putBack(taken: readonly WindowTimes[]): void;
  dropBefore(time: number): void;
}

export function makeUnreported(now: () => number): Unreported {
  let byName = new Map<string, number[]>();
  let prunedAt = Number.NEGATIVE_INFINITY;

  function keepFrom(first: number): void {
    for (const [name, times] of byName) {
      const kept = times.filter((time) => time > first);
      if (kept.length > 0) byName.set(name, kept);
      else byName.delete(name);
    }
  }

  function note(name: string, time: number): void {
    const times = byName.get(name);
    if (times === undefined) byName.set(name, [time]);
    else times.push(time);
    if (time - prunedAt < WINDOW_MS) return;
    prunedAt = time;
    keepFrom(time - WINDOW_MS);
  }

  return {
    note,
    isEmpty: () => byName.size === 0,
    take() {
      keepFrom(now() - WINDOW_MS);
      const taken = [...byName].map(([name, times]) => ({ name, times }));
      byName = new Map();
      return taken;
    },
    putBack(taken) {
      for (const { name, times } of taken) {
        byName.set(name, [...times, ...(byName.get(name) ?? [])]);
      }
    },
    dropBefore: (time) => keepFrom(time),
  };
}
