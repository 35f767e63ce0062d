/**
 * Times of `updated_at` as numbers. Two different texts of the same form never give the same number. A
 * text of an unknown form gives NaN, and its row is read again in every run.
 */
import type { Value } from '../../database/database.ts';
import { plainSeconds } from '../columns/plain-times.ts';

/**
 * A row that was changed less than this long before it was read is read again in the next run: another
 * change may have got the same time. That happens within one second, and when a statement waits for the
 * lock of a row (50 seconds by default), because its time is that of its start.
 */
const UNSETTLED_SECONDS = 120;

const TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,6})?Z?$/;
const NUMBER = /^\d{1,16}(?:\.\d{1,6})?$/;
/** Larger numbers are milliseconds since 1970, not seconds. */
const LARGEST_SECONDS = 1e11;

/** @returns seconds since 1970, with six decimal places at most; NaN for NULL and unknown forms */
export function rowTime(updatedAt: Value): number {
  if (updatedAt === null) return Number.NaN;
  const text = String(updatedAt);
  const seconds = plainSeconds(text);
  if (!Number.isNaN(seconds)) return seconds;
  const [, date, time, fraction = 0] = TIME.exec(text) ?? [];
  if (date !== undefined) return plainSeconds(`${date} ${time}`) + Number(fraction);
  if (!NUMBER.test(text)) return Number.NaN;
  const number = Number(text);
  return number < LARGEST_SECONDS ? number : number / 1000;
}

/** @param now the time of the database just before the rows were read */
export function isSettled(time: number, now: number): boolean {
  return time < now - UNSETTLED_SECONDS;
}
