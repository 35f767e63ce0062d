/**
 * Writes values of rows as JSON: the bytes that they came in where these can stand as they are, and
 * otherwise the value. Each throws a RowFault on one that breaks the contract.
 */
import { Kind, type RowView, valueAt } from '../../database/row-view.ts';
import { equalsAscii } from '../../format/index/record-index.ts';
import { putAnyText, putBytes, putInteger, putPlainText, putText } from '../columns/json-bytes.ts';
import {
  checkFileUrl,
  checkOptionalCount,
  checkOptionalText,
  type Note,
  noteDamage,
} from './row-checks.ts';

const QUOTE = 0x22;
const ZERO = 0x30;

/** How many bytes all values of a row have. */
export function bytesOf({ kind, start, end }: RowView): number {
  let bytes = 0;
  for (let column = 0; column < kind.length; column++) {
    if (kind[column] !== Kind.NULL) bytes += end[column] - start[column];
  }
  return bytes;
}

/** Whether a value is just this text, which is of ASCII. */
export function isText(row: RowView, column: number, text: string): boolean {
  if (row.kind[column] !== Kind.TEXT) return valueAt(row, column) === text;
  return equalsAscii(text, row.bytes, row.start[column], row.end[column]);
}

/** Writes a text that may be unknown; an empty one is. @returns where it ends */
export function putTextAt(
  target: Buffer,
  at: number,
  row: RowView,
  column: number,
  name: string,
  note: Note,
): number {
  const from = row.start[column];
  const to = row.end[column];
  if (row.kind[column] === Kind.TEXT && from < to) {
    const end = putPlainText(target, at, row.bytes, from, to);
    if (end >= 0) return end;
    const text = row.bytes.toString('utf8', from, to);
    noteDamage(text, name, note);
    return putAnyText(target, at, text);
  }
  const text = checkOptionalText(valueAt(row, column), name);
  noteDamage(text, name, note);
  return putText(target, at, text);
}

/** Writes a whole number that may be unknown. @returns where it ends */
export function putCountAt(
  target: Buffer,
  at: number,
  row: RowView,
  column: number,
  name: string,
): number {
  const from = row.start[column];
  // Neither a sign nor zeros before it.
  if (row.kind[column] === Kind.INTEGER && row.bytes[from] > ZERO) {
    return putBytes(target, at, row.bytes, from, row.end[column]);
  }
  return putInteger(target, at, checkOptionalCount(valueAt(row, column), name));
}

/** What of a path can stand in an address: 1, alone, or 2, between others. */
const PLAIN_IN_PATH = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~-') {
  PLAIN_IN_PATH[character.charCodeAt(0)] = 1;
}
for (const character of './') PLAIN_IN_PATH[character.charCodeAt(0)] = 2;

/** Whether a path can stand in an address as it is: no way up, nothing empty, nothing to encode. */
function isPlainPath({ bytes, kind, start, end }: RowView, column: number): boolean {
  if (kind[column] !== Kind.TEXT) return false;
  let last = 2;
  for (let at = start[column]; at < end[column]; at++) {
    const use = PLAIN_IN_PATH[bytes[at]];
    if (use === 0 || (use === 2 && last === 2)) return false;
    last = use;
  }
  return last === 1;
}

/**
 * The address of a cover file.
 * @returns undefined for the path of nearly every file: {@link putPlainUrl} writes it
 */
export function oddUrlAt(
  row: RowView,
  column: number,
  filesUrl: string,
  note: Note,
): string | undefined {
  if (isPlainPath(row, column)) return undefined;
  const path = valueAt(row, column);
  const url = checkFileUrl(path, filesUrl);
  noteDamage(String(path), 'path', note);
  return url;
}

/** @param head the JSON of what the path is joined to, with a slash at its end */
export function putPlainUrl(
  target: Buffer,
  at: number,
  row: RowView,
  column: number,
  head: Uint8Array,
): number {
  const end = putBytes(target, at, head);
  const after = putBytes(target, end, row.bytes, row.start[column], row.end[column]);
  target[after] = QUOTE;
  return after + 1;
}
