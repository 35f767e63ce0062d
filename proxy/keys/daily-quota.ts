/**
 * The daily quota of a key: how many requests this proxy admits on one day of UTC, whichever of its
 * threads receive them. Requests are also counted if the key has no quota, because it may get one during
 * the day. The count lies behind the cells of `use-counts.ts`, and stays with the id of the key.
 */
import { DAY_MS } from '../../format/key-usage.ts';
import type { Quota } from '../limits/rolling-window.ts';
import { lock, unlock } from '../limits/shared-lock.ts';
import { currentDay, DAY_CHECK_MS, END_BYTES } from './use-counts.ts';

/** The layout of the count, as integers: its lock, the number of the day, the requests of that day. */
const LOCK = 0;
const DAY = 1;
const COUNT = 2;
const LARGEST_COUNT = 2 ** 31 - 1;

/** What a request needs to know about the quota of its key. */
export interface DailyQuota {
  /** Undefined if the key has no quota. */
  readonly dailyQuota: number | undefined;
  readonly dayCount: Int32Array;
}

/** The count of a key. @param memory from `newUseCounts` */
export function dayCountOf(memory: SharedArrayBuffer): Int32Array {
  return new Int32Array(memory, memory.byteLength - END_BYTES, COUNT + 1);
}

/** The requests that were admitted on one day. */
export interface DayAdmitted {
  /** The number of the day. */
  readonly day: number;
  /** By the id of the key. */
  readonly admitted: ReadonlyMap<number, number>;
}

/** Continues the count of an earlier run. Call it before other threads get the memory. */
export function continueDay(memory: SharedArrayBuffer, day: number, admitted: number): void {
  const cells = dayCountOf(memory);
  cells[DAY] = day;
  cells[COUNT] = Math.min(LARGEST_COUNT, admitted);
}

/** Whether the quota is used up. It costs nothing, and another thread may use it up at the same time. */
export function isUsedUp({ dailyQuota, dayCount }: DailyQuota): boolean {
  if (dailyQuota === undefined) return false;
  return dayCount[DAY] >= currentDay() && dayCount[COUNT] >= dailyQuota;
}

/** Counts an admitted request. @returns false if the quota was used up; the request is then refused */
export function takeFromDay({ dailyQuota = LARGEST_COUNT, dayCount }: DailyQuota): boolean {
  lock(dayCount, LOCK);
  try {
    // At midnight, some threads know the new day a little earlier than others. The new day has begun
    // with the first of them.
    if (dayCount[DAY] < currentDay()) {
      dayCount[DAY] = currentDay();
      dayCount[COUNT] = 0;
    }
    if (dayCount[COUNT] >= dailyQuota) return false;
    dayCount[COUNT]++;
    return true;
  } finally {
    unlock(dayCount, LOCK);
  }
}

/** What a caller has left whose quota is used up. @param limit the key's limit per minute */
export function usedUp(limit: number, now = Date.now()): Quota {
  // A thread may notice the new day a little late.
  const untilNextDay = DAY_MS - (now % DAY_MS) + 2 * DAY_CHECK_MS;
  const resetSeconds = Math.ceil(untilNextDay / 1000);
  return { admitted: false, limit, remaining: 0, resetSeconds, isDaily: true };
}
