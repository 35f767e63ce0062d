/** The values in rows: ids of accounts, times, hashes of tokens, and rows as objects. */
import { hash, randomBytes } from 'node:crypto';
import type { Row, Value } from '../../lib/database/database.ts';

const TOKEN_BYTES = 32;
const LARGEST_ID = 2n ** 64n - 1n;

/**
 * The id of an account, which a site may have chosen: a number, or a string of decimal digits beyond 2^53, as
 * in rows, so that `===` compares two ids. The ids of keys, events and mails count from 1 and are numbers.
 */
export type AccountId = number | string;

/** The id in a row. The column of a view may be of any type. */
export function toAccountId(value: Value): AccountId {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** @returns the id that a text names, without leading zeros; undefined if it names none */
export function parseAccountId(text: string): AccountId | undefined {
  const isId = /^[1-9]\d{0,19}$/.test(text) && BigInt(text) <= LARGEST_ID;
  return isId ? toAccountId(text) : undefined;
}

/**
 * A time as the tables contain it: "YYYY-MM-DD HH:MM:SS" in UTC, which sorts by time.
 * @returns the time, rounded down to the second
 */
export function toDatabaseTime(time: Date): string {
  return time.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ');
}

/** @param time "YYYY-MM-DD HH:MM:SS" in UTC */
export function fromDatabaseTime(time: string): Date {
  return new Date(`${time.replace(' ', 'T')}Z`);
}

/** How much the clocks of two programs may differ. A time later than that comes from a clock that was wrong. */
const MOST_SKEW_SECONDS = 60;

export function addSeconds(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1000);
}

/** The latest time that a row may have now. @param ahead how many seconds after its creation it may be */
export function latestTime(now: Date, ahead = 0): string {
  return toDatabaseTime(addSeconds(now, ahead + MOST_SKEW_SECONDS));
}

/**
 * Between what an end must be while something lasts: later than the first, and at most the second.
 * @param seconds how long it lasts
 */
export function endsWithin(now: Date, seconds: number): [string, string] {
  return [toDatabaseTime(now), latestTime(now, seconds)];
}

/** How long an old key may work beside the one that has replaced it. */
export const OVERLAP_HOURS = 24;

/** Between what the end of an old key must be while it works: as from {@link endsWithin}. */
export function endsOfOldKeys(now: Date): [string, string] {
  return endsWithin(now, OVERLAP_HOURS * 3600);
}

/**
 * Creates a token of 43 characters that are allowed in addresses and cookies. A token signs in anybody
 * who has it; the database contains only hashes.
 */
export function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** The form in which a token is stored: its SHA-256 in hexadecimal. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}

/** A question mark for each of the values of a statement. */
export function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

/**
 * A row as an object. Its values have the types of the columns, which the schema defines.
 * @param columns the names of the columns, as in the query
 */
export function toObject<T>(columns: string, row: Row): T {
  return Object.fromEntries(columns.split(/,\s+/).map((name, index) => [name, row[index]])) as T;
}
