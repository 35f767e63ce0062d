/** Times as seconds since 1970, in UTC. */

/** The form in which databases return nearly all times. */
const PLAIN_TIME = /^\d{4}-\d\d-\d\d (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;
/** For each date seen so far, the start of that day in seconds since 1970. */
const days = new Map<string, number>();

/**
 * Reads a time of the form "YYYY-MM-DD HH:MM:SS".
 * @returns seconds since 1970 in UTC; NaN for another form, and for a time that does not exist
 */
export function plainSeconds(text: string): number {
  if (!PLAIN_TIME.test(text)) return Number.NaN;
  const date = text.slice(0, 'YYYY-MM-DD'.length);
  // Without a function for each of a million times.
  let day = days.get(date);
  if (day === undefined) {
    day = startOfDay(date);
    days.set(date, day);
  }
  const at = (index: number) => Number(text.slice(index, index + 2));
  return day + at(11) * 3600 + at(14) * 60 + at(17);
}

/** @returns seconds since 1970; NaN for a day that does not exist. @param date in the form "YYYY-MM-DD" */
function startOfDay(date: string): number {
  const time = Date.parse(`${date}T00:00:00Z`);
  // Date.parse accepts 31 February and returns a day in March.
  const exists = !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
  return exists && !date.startsWith('0000') ? time / 1000 : Number.NaN;
}

const DAY_SECONDS = 86_400;
/** A cache of dates, since thousands of covers can be approved on one day. */
const dates = new Map<number, string>();

/** A time in RFC 3339, in UTC with whole seconds, or null for NaN. @param seconds since 1970 */
export function encodeTime(seconds: number): string | null {
  if (Number.isNaN(seconds)) return null;
  const day = Math.floor(seconds / DAY_SECONDS);
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 11);
    dates.set(day, date);
  }
  const rest = seconds - day * DAY_SECONDS;
  const pad = (value: number) => (value < 10 ? `0${value}` : String(value));
  return `${date}${pad(Math.floor(rest / 3600))}:${pad(Math.floor(rest / 60) % 60)}:${pad(rest % 60)}Z`;
}
