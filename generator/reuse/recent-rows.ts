/**
 * The rows that changed last, read through an index on `updated_at`: polls and runs find a takedown among them
 * within milliseconds. Such an index does not show everything: a row that is gone, one with an older time, and one
 * whose time stayed the same. Fingerprints find these later.
 */
import type { Reader, Row, Value } from '../../lib/database/database.ts';
import { TIMED_TABLES, type TimedTable, UPDATED_AT } from '../../lib/database/schema.ts';
import { encodeTime, readTime } from '../rows/values.ts';
import { GROUPED } from './blocks.ts';

/**
 * In seconds. Rows that changed less than this long before they were read are read again: one second can have
 * several changes, and a statement that waits for a lock (50 seconds by default) has the time of its start.
 */
export const OVERLAP_SECONDS = 120;
/** If more rows have changed, an index saves little. */
export const MOST_RECENT = 1_000;

const NUMBER = /^\d{1,16}(?:\.\d{1,6})?$/;
/** Larger numbers are milliseconds since 1970, not seconds. */
const LARGEST_SECONDS = 1e11;

/** A value of `updated_at` in seconds since 1970; NaN for NULL and unknown forms. */
export function timeOf(updatedAt: Value): number {
  const text = String(updatedAt);
  if (!NUMBER.test(text)) return readTime(text);
  const number = Number(text);
  return number < LARGEST_SECONDS ? number : number / 1000;
}

/** The time of the database, in seconds since 1970. */
export async function readNow(reader: Reader): Promise<number> {
  const [[time = null] = []] = await reader.rows('SELECT CURRENT_TIMESTAMP');
  return timeOf(time);
}

/**
 * The value of `updated_at` after which the next reading begins: the latest, or two minutes before it if it is recent.
 * A time in the future does not hide those of now. The rows of an old bulk change, which have one time, are not read.
 * @param latest the latest value now @param now the time of the database
 */
export function sinceOf(latest: Value, now: number): Value {
  const [text, time] = [String(latest), timeOf(latest)];
  const isNumber = NUMBER.test(text);
  if (time < now - OVERLAP_SECONDS) return isNumber ? Number(text) : text;
  const seconds = Math.floor(Math.min(time || now, now)) - OVERLAP_SECONDS;
  if (isNumber) return Number(text) < LARGEST_SECONDS ? seconds : seconds * 1000;
  const since = String(encodeTime(seconds)).slice(0, -1);
  return text[10] === 'T' ? since : since.replace('T', ' ');
}

/** The query of {@link readRecentRows}; its parameter is a value of {@link sinceOf}. */
export function recentRowsQuery(table: TimedTable): string {
  const status = table === 'covers' ? ', status' : '';
  return `SELECT id, ${UPDATED_AT} || '', ${GROUPED[table].column}${status} FROM ${table}
    WHERE ${UPDATED_AT} > ? ORDER BY ${UPDATED_AT} DESC LIMIT ${MOST_RECENT + 1}`;
}

/**
 * @returns the latest rows, at most one more than {@link MOST_RECENT}: id, `updated_at` as a text, the id by which
 * rows are grouped into blocks and, of covers, the status
 */
export function readRecentRows(reader: Reader, table: TimedTable, since: Value): Promise<Row[]> {
  return reader.rows(recentRowsQuery(table), [since]);
}

/** Up to where a run has read the tables: what is newer is found from here. */
export type ReadUpTo = Readonly<
  Record<TimedTable, { readonly since: Value; readonly lastId: Value }>
>;

/** @param now the time of the database */
export async function findReadUpTo(reader: Reader, now: number): Promise<ReadUpTo> {
  const found: Partial<Record<TimedTable, ReadUpTo[TimedTable]>> = {};
  for (const table of TIMED_TABLES) {
    // In one SELECT, SQLite would read all rows for two of them.
    const [[latest = null, lastId = null] = []] = await reader.rows(
      `SELECT (SELECT MAX(${UPDATED_AT}) FROM ${table}) || '', (SELECT MAX(id) FROM ${table})`,
    );
    found[table] = { since: sinceOf(latest, now), lastId };
  }
  return found as ReadUpTo;
}
