/**
 * What each key has used on each of the last days, as this run of the proxy has counted it. Reads the
 * counts of all threads at intervals and assigns what was added since the last time to its day.
 *
 * Invariant: the counts of a day never decrease, because the database keeps the largest that it has
 * seen. Only if the clock is wrong by more than a week, days are forgotten too early.
 */
import { DAY_MS, dayOf, isReported, type Usage } from '../../format/key-usage.ts';
import { dayNumber, sumOfUse, USE } from '../keys/use-counts.ts';

export interface DayCounts {
  /** Reads the counts. Must be called more often than once a day. @returns whether any has grown */
  collect(): boolean;
  /** For each day with counts, the oldest first, what each key has used. */
  days(): readonly (readonly [day: string, keys: ReadonlyMap<number, Usage>])[];
}

/** What is in the memory of a key: the sums of even days and those of odd days. */
type Sums = readonly [even: Float64Array, odd: Float64Array];

/**
 * @param usesOf returns, for the id of each key, the memory of its counts, from `newUseCounts`
 * @param wallClock milliseconds since 1970
 */
export function makeDayCounts(
  usesOf: () => ReadonlyMap<number, SharedArrayBuffer>,
  wallClock: () => number,
): DayCounts {
  const lastSums = new WeakMap<SharedArrayBuffer, Sums>();
  const byDay = new Map<string, Map<number, Usage>>();

  /** @returns whether the key has used anything since the last call */
  function collectKey(id: number, memory: SharedArrayBuffer): boolean {
    const sums: Sums = [sumOfUse(memory, 0), sumOfUse(memory, 1)];
    // Read the clock after the counts. Otherwise, the first requests of a new day could be counted for
    // the day before yesterday, which has the same cells.
    const time = wallClock();
    const last = lastSums.get(memory);
    lastSums.set(memory, sums);
    let hasGrown = false;
    for (const at of [time - DAY_MS, time]) {
      const parity = dayNumber(at) % 2;
      const growth = sums[parity].map((sum, use) => sum - (last?.[parity][use] ?? 0));
      if (growth.every((count) => count === 0)) continue;
      add(id, dayOf(at), growth);
      hasGrown = true;
    }
    return hasGrown;
  }

  function add(id: number, day: string, growth: Float64Array): void {
    const keys = byDay.get(day) ?? new Map<number, Usage>();
    byDay.set(day, keys);
    const known = keys.get(id);
    keys.set(id, {
      requests: (known?.requests ?? 0) + growth[USE.requests],
      notModified: (known?.notModified ?? 0) + growth[USE.notModified],
      refused: (known?.refused ?? 0) + growth[USE.refused],
      bytes: (known?.bytes ?? 0) + growth[USE.bytes],
    });
  }

  return {
    collect() {
      let hasGrown = false;
      for (const [id, memory] of usesOf()) if (collectKey(id, memory)) hasGrown = true;
      for (const day of byDay.keys()) if (!isReported(day, wallClock())) byDay.delete(day);
      return hasGrown;
    },
    days: () => [...byDay].sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}
