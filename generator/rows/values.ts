/**
 * Single values of rows: times as seconds since 1970 in UTC, the JSON of texts, and the order of texts. What a
 * generation contains is in these forms, whatever the database returns.
 */

/** The forms in which databases return times: "YYYY-MM-DD HH:MM:SS", or those of ISO 8601 in UTC. */
export const TIME = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?$/;

/** @returns seconds since 1970 in UTC; NaN for another form, and for a time that does not exist */
export function readTime(text: string): number {
  if (!TIME.test(text) || text.startsWith('0000')) return Number.NaN;
  const [date, time] = [text.slice(0, 10), text.slice(11, 19)];
  const seconds = Date.parse(`${date}T${time}Z`) / 1000;
  // Date.parse accepts 31 February and returns a day in March, and 24:00:00.
  const isPlain = date.slice(8) <= '28' && time < '24';
  const exists = isPlain || encodeTime(seconds)?.startsWith(`${date}T${time}`);
  return exists ? seconds : Number.NaN;
}

/** A time in RFC 3339, in UTC with whole seconds, or null for NaN. @param seconds since 1970 */
export function encodeTime(seconds: number): string | null {
  if (Number.isNaN(seconds)) return null;
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** The JSON of a text or null. */
export function encodeText(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value.toWellFormed());
}

/** A collator for title order. The locale "en" has no rules of its own: this is the root collation with options. */
export function makeCollator(): Intl.Collator {
  return new Intl.Collator('en-u-kn', { sensitivity: 'base' });
}

/**
 * Two hashes of a title: that of its small letters in the upper 16 bits, and its own in the lower ones. It tells,
 * without reading titles, which ones may differ only in case.
 */
export function hashTitle(title: string): number {
  return ((hashText(title.toLowerCase()) << 16) | (hashText(title) & 0xffff)) >>> 0;
}

function hashText(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 16);
}

/** Compares two texts by their UTF-16 code units. */
export function compareUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
