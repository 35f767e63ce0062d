/**
 * Checks single values of rows against the contract. Each check returns the value in the form that the
 * generator uses, or throws a {@link RowFault}, whose message becomes the reason in `report.json`.
 * {@link noteOddText} only adds a warning. {@link encodeValues} makes what a run keeps of a row for its record.
 */
import type { Row, Value } from '../../lib/database/database.ts';
import type { Id } from '../../lib/format/index/ids.ts';
import { isSlug } from '../../lib/format/layout.ts';
import { hasPlainHost } from '../../lib/program/environment/values.ts';
import { RowFault } from '../report/report.ts';
import { readId } from '../rows/ids.ts';
import type { RecordMember } from '../rows/members.ts';
import { FILES_URL_MARK } from '../rows/records.ts';
import { encodeText, readTime, TIME } from '../rows/values.ts';

/** Notes what is probably wrong with a row that is published. */
export type Note = (reason: string, value: Value) => void;

/** The character that a decoder writes in place of bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/** How a JSON array of texts, or a JSON object, begins. A title may begin with a bracket, too. */
const JSON_START = /^\s*(?:\[\s*["\]]|\{\s*["}])/;

const ENTITY = /&(?:[a-z]{2,8}\d{0,2}|#\d{1,7}|#x[\da-f]{1,6});/i;
const TAG =
  /<\/?(?:a|b|big|blockquote|br|center|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|q|s|small|span|strong|su[bp]|table|t[drh]|u|ul)\b[^<>]*>|<!--/i;
/** A name is a text on one line, and prose may have lines and white space at will. A code is of one word, such as `thumb`. */
type TextKind = 'name' | 'prose' | 'path' | 'code';

const WITH_ENTITIES = 'HTML entities: @ with them; operations/database.md has a view without them';

/** What no text of a kind should have. In the place of "@" stands what is done with it. */
const ODD: Readonly<Record<TextKind, readonly (readonly [pattern: RegExp, what: string])[]>> = {
  code: [],
  path: [
    [ENTITY, WITH_ENTITIES],
    [/^\s|\s$/, 'white space at an end: @ with it'],
  ],
  prose: [
    [ENTITY, WITH_ENTITIES],
    [TAG, 'HTML tags: @ with them'],
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters
    [/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/, 'control characters: @ with them'],
  ],
  name: [
    [ENTITY, WITH_ENTITIES],
    [TAG, 'HTML tags: @ with them'],
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters
    [/[\0-\x1f\x7f-\x9f]/, 'control characters: @ with them'],
    [/^\s|\s\s|\s$/, 'white space at an end, or doubled: @ with it'],
  ],
};

/** Nearly all texts are plain, and one pass tells: looking for each oddity takes four times as long. */
const MAY_BE_ODD: Readonly<Record<TextKind, RegExp>> = {
  code: /\ufffd|^\s*[[{]/,
  path: /[&\ufffd]|^[\s[{]|\s$/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters
  prose: /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f&<\ufffd]|^\s*[[{]/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters
  name: /[\0-\x1f\x7f-\x9f&<\ufffd]|^[\s[{]|\s(?:\s|$)/,
};

/**
 * Notes what is probably wrong with a text. If it contains U+FFFD, either its bytes are not UTF-8, or it was
 * stored with this character; these cases look the same. If it is JSON, the site keeps a list in one column.
 * @param use what is done with the text
 */
export function noteOddText(
  text: string | null,
  column: string,
  note: Note,
  kind: TextKind = 'name',
  use: 'served' | 'searched' = 'served',
): void {
  if (text === null || !MAY_BE_ODD[kind].test(text)) return;
  if (text.includes(REPLACEMENT)) {
    note(`${column} has bytes that are not UTF-8, or holds U+FFFD: ${use} with U+FFFD`, text);
  }
  if (JSON_START.test(text) && isJson(text)) {
    note(
      `${column} is JSON: ${use} with its brackets and quotes; operations/database.md has a view of its values`,
      text,
    );
  }
  for (const [pattern, what] of ODD[kind]) {
    const at = text.search(pattern);
    if (at >= 0) note(`${column} has ${what.replace('@', use)}`, partOf(text, at));
  }
}

/** In UTF-16 code units, before and behind what is odd in a long text. */
const [BEFORE, BEHIND] = [20, 60];

/** The part of a text around a position. */
function partOf(text: string, at: number): string {
  if (text.length <= BEFORE + BEHIND) return text;
  const start = Math.max(0, at - BEFORE);
  const part = text.slice(start, at + BEHIND);
  return `${start > 0 ? '…' : ''}${part}${at + BEHIND < text.length ? '…' : ''}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isNull(column: string): RowFault {
  return new RowFault(`${column} is NULL`, null);
}

export function checkId(value: Value, column = 'id'): Id {
  if (value === null) throw isNull(column);
  const id = readId(value);
  if (id === undefined) throw new RowFault(`${column} is not an unsigned whole number`, value);
  return id;
}

export function checkSlug(value: Value): string {
  if (value === null) throw isNull('slug');
  if (value === '') throw new RowFault('slug is empty', value);
  if (typeof value !== 'string' || !isSlug(value)) {
    throw new RowFault('slug does not fit a path', value);
  }
  return value;
}

/** A text that is required and not blank. */
export function checkText(value: Value, column: string): string {
  if (value === null) throw isNull(column);
  if (typeof value !== 'string') throw new RowFault(`${column} is not text`, value);
  if (value.trim() === '') throw new RowFault(`${column} is empty`, value);
  return value;
}

/** A text that may be unknown: null or empty. */
export function checkOptionalText(value: Value, column: string): string | null {
  if (value === null || value === '') return null;
  if (typeof value !== 'string') throw new RowFault(`${column} is not text`, value);
  return value;
}

/** A whole number, or null if it is unknown. Beyond 2^53, it is a string of decimal digits. */
export function checkOptionalCount(value: Value, column: string): Value {
  if (value !== null && readId(value) === undefined) {
    throw new RowFault(`${column} is not an unsigned whole number`, value);
  }
  return value;
}

/** As databases return a whole number beyond 2^53. */
const WHOLE_NUMBER = /^-?\d{16,}$/;

/** A year from 1 to 9999, or null if it is unknown. MySQL stores an unknown YEAR as 0. */
export function checkOptionalYear(value: Value, note: Note): number | null {
  if (value === null) return null;
  const year = typeof value === 'string' && WHOLE_NUMBER.test(value) ? Number(value) : value;
  if (typeof year !== 'number' || !Number.isInteger(year)) {
    throw new RowFault('release_year is not a year', value);
  }
  if (year >= 1 && year <= 9999) return year;
  note('release_year is not from 1 to 9999: served as null', value);
  return null;
}

/** The zero date, which MySQL stores for an unknown time. */
const ZERO_TIME = /^0000-00-00(?:[ T]00:00:00(?:\.0+)?Z?)?$/;

/** @returns seconds since 1970 in UTC, or NaN for null and for a zero or empty time */
export function checkOptionalTime(value: Value, name: string): number {
  // Some programs store an empty text or 0 for an unknown time.
  if (value === null || value === '' || value === 0) return Number.NaN;
  if (typeof value !== 'string') throw new RowFault(`${name} is not a time`, value);
  const seconds = readTime(value);
  if (!Number.isNaN(seconds) || ZERO_TIME.test(value)) return seconds;
  throw new RowFault(`${name} is not a time${TIME.test(value) ? ' that exists' : ''}`, value);
}

/** A path that needs no encoding. Nearly all paths are of this form. */
const PLAIN_PATH = /^[\w~-]+(?:[./][\w~-]+)*$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/**
 * The address of a cover file.
 * @param filesUrl the address that a relative path is appended to, without a slash at its end
 */
export function checkFileUrl(value: Value, filesUrl: string): string {
  if (value === null) throw isNull('path');
  if (typeof value !== 'string' || value.trim() === '') throw new RowFault('path is empty', value);
  if (PLAIN_PATH.test(value)) return `${filesUrl}/${value}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters
  if (/[\u0000-\u001f\u007f]/.test(value)) {
    throw new RowFault('path has control characters', value);
  }
  if (SCHEME.test(value)) {
    const url = /^https?:\/\//i.test(value) && URL.canParse(value) ? new URL(value) : undefined;
    if (url === undefined || !hasPlainHost(url)) {
      throw new RowFault('path is neither relative nor an http or https address', value);
    }
    return encodeRest(url.href);
  }
  const path = value.replace(/^\/+/, '');
  if (path === '') throw new RowFault('path is empty', value);
  if (path.split('/').includes('..')) throw new RowFault('path leaves its folder', value);
  return `${filesUrl}/${path.toWellFormed().split('/').map(encodeURIComponent).join('/')}`;
}

// Characters after the host that the URL parser does not encode, although RFC 3986 forbids them there.
const NOT_IN_URI = /[^A-Za-z0-9._~:/?@!$&'()*+,;=%-]|%(?![0-9A-Fa-f]{2})/g;

/** Encodes the characters of an http address that RFC 3986 forbids. @param href from the URL parser */
function encodeRest(href: string): string {
  const start = href.indexOf('/', href.indexOf('//') + 2);
  const fragment = href.indexOf('#') - start;
  const rest = href.slice(start).replace(NOT_IN_URI, (character, at: number) => {
    if (at === fragment) return character;
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return href.slice(0, start) + rest;
}

/** The JSON of an address. @param filesUrl as in {@link checkFileUrl} */
export function encodeUrl(url: string, filesUrl: string): string {
  if (!url.startsWith(filesUrl)) return encodeText(url);
  return `"${FILES_URL_MARK}${encodeText(url.slice(filesUrl.length)).slice(1)}`;
}

/**
 * The values of a row for its record: their JSON, each ended by a byte that JSON cannot have. This takes half of
 * the memory of records, which `rows/records.ts` makes of them.
 * @param members those of the record @param own the JSON of its year or address; the caller has checked the id
 */
export function encodeValues(
  row: Row,
  members: readonly RecordMember[],
  own: string,
  note: Note,
): string {
  let values = '';
  for (const { name, form, position } of members) {
    const value = row[position];
    if (form === 'year' || form === 'url') values += own;
    else if (form === 'count') values += checkOptionalCount(value, name);
    else if (form === 'id') values += value;
    else {
      const text = checkOptionalText(value, name);
      noteOddText(text, name, note, form);
      values += encodeText(text);
    }
    values += '\0';
  }
  return values;
}
