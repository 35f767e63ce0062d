/**
 * Reads times of the form "YYYY-MM-DD HH:MM:SS", in which databases return nearly all of them. A table has
 * millions: a regular expression, which makes a string of each part, takes five times as long.
 */

const LENGTH = 'YYYY-MM-DD HH:MM:SS'.length;
const ZERO = 0x30;
const HYPHEN = 0x2d;
const COLON = 0x3a;
const SPACE = 0x20;

/** For each date seen so far, as the number YYYYMMDD, the start of that day in seconds since 1970. */
const days = new Map<number, number>();

/** @returns seconds since 1970 in UTC; NaN for another form, and for a time that does not exist */
export function plainSeconds(text: string): number {
  const isPlain =
    text.length === LENGTH &&
    text.charCodeAt(4) === HYPHEN &&
    text.charCodeAt(7) === HYPHEN &&
    text.charCodeAt(10) === SPACE &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON;
  if (!isPlain) return Number.NaN;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const date = (year * 100 + twoDigits(text, 5)) * 100 + twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  if (hour > 23 || minute > 59 || second > 59) return Number.NaN;
  let day = days.get(date);
  if (day === undefined) {
    day = startOfDay(text.slice(0, 'YYYY-MM-DD'.length));
    days.set(date, day);
  }
  return day + hour * 3600 + minute * 60 + second;
}

/** NaN if one of the characters is not a digit. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - ZERO;
  const ones = text.charCodeAt(at + 1) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/** @returns seconds since 1970; NaN for a day that does not exist. @param date in the form "YYYY-MM-DD" */
function startOfDay(date: string): number {
  const time = Date.parse(`${date}T00:00:00Z`);
  // Date.parse accepts 31 February and returns a day in March.
  const exists = !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
  return exists && !date.startsWith('0000') ? time / 1000 : Number.NaN;
}
