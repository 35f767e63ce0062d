/**
 * Writes the JSON of each resource, member by member in the order of the contract. JSON.stringify cannot
 * do this: ids beyond 2^53 must stay exact, and a record is assembled from pieces.
 */
import type { Row } from '../../database/database.ts';
import type { Settings } from '../../format/manifest.ts';
import { mostBytes, putBytes, putInteger, putText } from '../columns/json-bytes.ts';
import type { Note } from '../report/row-fault.ts';
import { putCount, putTextValue } from './row-json.ts';

/** The name of each member, with the punctuation before and after it. */
const JSON_OF = {
  id: Buffer.from('{"id":'),
  slug: Buffer.from(',"slug":'),
  title: Buffer.from(',"title":'),
  releaseYear: Buffer.from(',"release_year":'),
  description: Buffer.from(',"description":'),
  genres: Buffer.from(',"genres":'),
  developer: Buffer.from(',"developer":'),
  publisher: Buffer.from(',"publisher":'),
  variant: Buffer.from(',"variant":'),
  mimeType: Buffer.from(',"mime_type":'),
  width: Buffer.from(',"width":'),
  height: Buffer.from(',"height":'),
  sizeBytes: Buffer.from(',"size_bytes":'),
  url: Buffer.from(',"url":'),
};
const CLOSING_BRACE = 0x7d;

/** The JSON of a text or null. */
export function encodeText(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value.toWellFormed());
}

/** The columns of the table `games`, in the order in which {@link putGameHead} reads them. */
export const GAME_COLUMNS =
  'id, platform_id, slug, title, release_year, description, genres, developer, publisher';

/**
 * Writes the first part of a game's record, up to and including `publisher`: at most {@link mostOfRow}
 * bytes.
 * @param row the values of {@link GAME_COLUMNS}; the caller has checked the id, slug, title and year
 * @returns the position after the written bytes
 */
export function putGameHead(target: Buffer, at: number, row: Row, note: Note): number {
  let end = putBytes(target, at, JSON_OF.id);
  end = putCount(target, end, row[0], 'id');
  end = putBytes(target, end, JSON_OF.slug);
  end = putTextValue(target, end, row[2], 'slug', note);
  end = putBytes(target, end, JSON_OF.title);
  end = putTextValue(target, end, row[3], 'title', note);
  end = putBytes(target, end, JSON_OF.releaseYear);
  end = putInteger(target, end, row[4]);
  end = putBytes(target, end, JSON_OF.description);
  end = putTextValue(target, end, row[5], 'description', note);
  end = putBytes(target, end, JSON_OF.genres);
  end = putTextValue(target, end, row[6], 'genres', note);
  end = putBytes(target, end, JSON_OF.developer);
  end = putTextValue(target, end, row[7], 'developer', note);
  end = putBytes(target, end, JSON_OF.publisher);
  return putTextValue(target, end, row[8], 'publisher', note);
}

/**
 * The part of a game's record between the value of `cover_count` and the slug that ends `url`. It is the
 * same for all games of a platform.
 */
export function encodeGameTail(platformRef: string, platformUrl: string): string {
  return `,"platform":${platformRef},"url":"${platformUrl}/game/`;
}

/** The JSON of a platform inside a game or a cover. */
export function encodePlatformRef(slug: string, name: string): string {
  return `{"slug":"${slug}","name":${encodeText(name)}}`;
}

/** The address of a platform's page; the addresses of its games begin with it. */
export function platformUrl({ site_url, site_language }: Settings, slug: string): string {
  return `${site_url}/${site_language}/platform/${slug}`;
}

export function encodePlatform(
  slug: string,
  name: string,
  games: number,
  covers: number,
  url: string,
): string {
  return `{"slug":"${slug}","name":${encodeText(name)},"game_count":${games},"cover_count":${covers},"url":"${url}"}`;
}

/** The columns of the table `cover_files`, in the order in which {@link putFile} reads them. */
export const FILE_COLUMNS = 'id, cover_id, variant, mime_type, width, height, size_bytes, path';

/**
 * Writes the JSON of a file inside a cover: at most {@link mostOfRow} bytes, and the bytes of the
 * address.
 * @param row the values of {@link FILE_COLUMNS}; the caller has checked the id
 * @param url the address of the file
 * @returns the position after the written bytes
 */
export function putFile(target: Buffer, at: number, row: Row, url: string, note: Note): number {
  let end = putBytes(target, at, JSON_OF.id);
  end = putCount(target, end, row[0], 'id');
  end = putBytes(target, end, JSON_OF.variant);
  end = putTextValue(target, end, row[2], 'variant', note);
  end = putBytes(target, end, JSON_OF.mimeType);
  end = putTextValue(target, end, row[3], 'mime_type', note);
  end = putBytes(target, end, JSON_OF.width);
  end = putCount(target, end, row[4], 'width');
  end = putBytes(target, end, JSON_OF.height);
  end = putCount(target, end, row[5], 'height');
  end = putBytes(target, end, JSON_OF.sizeBytes);
  end = putCount(target, end, row[6], 'size_bytes');
  end = putBytes(target, end, JSON_OF.url);
  end = putText(target, end, url);
  target[end] = CLOSING_BRACE;
  return end + 1;
}

/** The most bytes that the JSON of a row can take. */
export function mostOfRow(row: Row): number {
  let codeUnits = 0;
  for (const value of row) if (typeof value === 'string') codeUnits += value.length;
  return FIXED_BYTES + mostBytes(codeUnits);
}

/** More bytes than the names, numbers and punctuation of any record in this file take. */
export const FIXED_BYTES = 256;

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
