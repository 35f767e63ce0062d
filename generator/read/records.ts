/**
 * The JSON of each resource, member by member in the order of the contract. It is not made by
 * JSON.stringify, because ids beyond 2^53 must stay exact and a record is assembled from pieces.
 */
import type { Row } from '../../database/database.ts';
import type { Settings } from '../../format/manifest.ts';
import { mostBytes, putBytes, putInteger, putText } from '../columns/json-bytes.ts';
import type { Note } from '../report/row-fault.ts';
import { putCount, putTextValue } from './row-json.ts';

/** The names of members, with the punctuation before them. */
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
const CLOSE = 0x7d;

/** JSON of a text. */
export function encodeText(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value.toWellFormed());
}

/** The columns of the table of games, in the order in which {@link putGameHead} reads them. */
export const GAME_COLUMNS =
  'id, platform_id, slug, title, release_year, description, genres, developer, publisher';

/**
 * Writes a game's record up to its publisher.
 * @param row of {@link GAME_COLUMNS}; its id, slug, title and year were checked
 * @returns where it ends, at most {@link mostOfRow} further
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

/** A game's record from its number of covers to its slug, which it ends with: the same for all of a platform. */
export function encodeGameTail(platformRef: string, platformUrl: string): string {
  return `,"platform":${platformRef},"url":"${platformUrl}/game/`;
}

/** A platform as a member of games and covers. */
export function encodePlatformRef(slug: string, name: string): string {
  return `{"slug":"${slug}","name":${encodeText(name)}}`;
}

/** The address of a platform's page, which those of its games begin with. */
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

/** The columns of the table of files, in the order in which {@link putFile} reads them. */
export const FILE_COLUMNS = 'id, cover_id, variant, mime_type, width, height, size_bytes, path';

/**
 * Writes a file as a member of a cover.
 * @param row of {@link FILE_COLUMNS}; its id was checked
 * @param url the address made from its path
 * @returns where it ends, at most {@link mostOfRow} and the address further
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
  target[end] = CLOSE;
  return end + 1;
}

/** At least as many bytes as the JSON of a row takes. */
export function mostOfRow(row: Row): number {
  let codeUnits = 0;
  for (const value of row) if (typeof value === 'string') codeUnits += value.length;
  return FIXED_BYTES + mostBytes(codeUnits);
}

/** More than the names, numbers and marks of any record here take. */
export const FIXED_BYTES = 256;

const DAY_SECONDS = 86_400;
/** The date of each day that was met: times repeat days by the thousand. */
const dates = new Map<number, string>();

/** RFC 3339 in UTC with whole seconds, or null for NaN. */
export function encodeTime(seconds: number): string | null {
  if (Number.isNaN(seconds)) return null;
  const day = Math.floor(seconds / DAY_SECONDS);
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 11);
    dates.set(day, date);
  }
  const rest = seconds - day * DAY_SECONDS;
  const two = (value: number) => (value < 10 ? `0${value}` : String(value));
  return `${date}${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}Z`;
}
