/**
 * Holds single values of rows to the contract. Each check hands on the value as it is published or
 * throws a {@link RowFault}, whose message is the reason in `report.json`.
 */
import type { Value } from '../database/database.ts';
import { isSlug } from '../format/layout.ts';
import { type Id, readId } from './row-columns.ts';

/** The row breaks the contract and is left out. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
}

export function checkId(value: Value, column = 'id'): Id {
  const id = readId(value);
  if (id === undefined) throw new RowFault(`${column} is not an unsigned whole number`);
  return id;
}

export function checkSlug(value: Value): string {
  if (value === '' || value === null) throw new RowFault('slug is empty');
  if (typeof value !== 'string' || !isSlug(value)) throw new RowFault('slug does not fit a path');
  return value;
}

/** Text that must be there: not empty, not blank. */
export function checkText(value: Value, column: string): string {
  if (typeof value !== 'string') throw new RowFault(`${column} is not text`);
  if (value.trim() === '') throw new RowFault(`${column} is empty`);
  return value;
}

/** Text that may be unknown; an empty one is. */
export function checkOptionalText(value: Value, column: string): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'string') throw new RowFault(`${column} is not text`);
  return value;
}

/** A whole number that may be unknown; beyond 2^53 its decimal digits. */
export function checkOptionalCount(value: Value, column: string): Value {
  if (value !== null && readId(value) === undefined) {
    throw new RowFault(`${column} is not an unsigned whole number`);
  }
  return value;
}

export function checkOptionalYear(value: Value): number | null {
  if (value === null) return null;
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > 9999) {
    throw new RowFault('release_year is not a year');
  }
  return value;
}

const TIME = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?$/;
/**
 * The start of each day that was met, in seconds since 1970, by its date as a number (20260131);
 * NaN for one that does not exist.
 */
const days = new Map<number, number>();

/** @returns seconds since 1970 in UTC, or NaN for null */
export function checkOptionalTime(value: Value, column: string): number {
  if (value === null) return Number.NaN;
  if (typeof value !== 'string' || !TIME.test(value)) throw new RowFault(`${column} is not a time`);
  const date =
    (twoDigits(value, 0) * 100 + twoDigits(value, 2)) * 10_000 +
    twoDigits(value, 5) * 100 +
    twoDigits(value, 8);
  let day = days.get(date);
  if (day === undefined) {
    day = startOfDay(value.slice(0, 10));
    days.set(date, day);
  }
  const hour = twoDigits(value, 11);
  const minute = twoDigits(value, 14);
  const second = twoDigits(value, 17);
  if (Number.isNaN(day) || hour > 23 || minute > 59 || second > 59) {
    throw new RowFault(`${column} is not a time that exists`);
  }
  return day + hour * 3600 + minute * 60 + second;
}

function startOfDay(date: string): number {
  const time = Date.parse(`${date}T00:00:00Z`);
  // The parser takes 31 February for 3 March.
  const exists = !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
  return exists && !date.startsWith('0000') ? time / 1000 : Number.NaN;
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}

const PLAIN_PATH = /^[A-Za-z0-9_~-][A-Za-z0-9_~-]*(?:[./][A-Za-z0-9_~-]+)*$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/**
 * The address of a cover file.
 * @param filesUrl what a relative path is joined to, without a slash at its end
 */
export function checkFileUrl(value: Value, filesUrl: string): string {
  // Nearly every path: nothing to encode, no scheme, no way up.
  if (typeof value === 'string' && PLAIN_PATH.test(value)) return `${filesUrl}/${value}`;
  if (typeof value !== 'string' || value.trim() === '') throw new RowFault('path is empty');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  if (/[\u0000-\u001f\u007f]/.test(value)) throw new RowFault('path has control characters');
  if (SCHEME.test(value)) {
    if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) {
      throw new RowFault('path is neither relative nor an http or https address');
    }
    return encodeRest(new URL(value).href);
  }
  const path = value.replace(/^\/+/, '');
  if (path === '') throw new RowFault('path is empty');
  if (path.split('/').includes('..')) throw new RowFault('path leaves its folder');
  return `${filesUrl}/${path.toWellFormed().split('/').map(encodeURIComponent).join('/')}`;
}

// What the URL standard leaves as it is after the host and RFC 3986 does not allow there.
const NOT_IN_URI = /[^A-Za-z0-9._~:/?@!$&'()*+,;=%-]|%(?![0-9A-Fa-f]{2})/g;

/** Makes the address of an http resource, as URL gives it, one that RFC 3986 allows. */
function encodeRest(href: string): string {
  const start = href.indexOf('/', href.indexOf('//') + 2);
  const fragment = href.indexOf('#') - start;
  const rest = href.slice(start).replace(NOT_IN_URI, (character, at: number) => {
    if (at === fragment) return character;
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return href.slice(0, start) + rest;
}
