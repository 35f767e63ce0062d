/**
 * The JSON of each resource, member by member in the order of the contract. Built by hand because
 * ids beyond 2^53 must stay exact and because a record is put together from pieces.
 */
import { type RowView, valueAt } from '../../database/row-view.ts';
import type { Settings } from '../../format/manifest.ts';
import { mostBytes, putBytes, putInteger, putText } from '../columns/json-bytes.ts';
import type { Note } from './row-checks.ts';
import { bytesOf, putCountAt, putPlainUrl, putTextAt } from './row-json.ts';

/** Names of members as they stand in records. */
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

/** The columns of the table of games, in the order that {@link putGameHead} looks for them. */
export const GAME_COLUMNS =
  'id, platform_id, slug, title, release_year, description, genres, developer, publisher';

/**
 * Writes a game's record up to its publisher.
 * @param row of {@link GAME_COLUMNS}; its id, slug, title and year were checked
 * @returns where it ends, at most {@link mostOfRow} further
 */
export function putGameHead(target: Buffer, at: number, row: RowView, note: Note): number {
  let end = putBytes(target, at, JSON_OF.id);
  end = putCountAt(target, end, row, 0, 'id');
  end = putBytes(target, end, JSON_OF.slug);
  end = putTextAt(target, end, row, 2, 'slug', note);
  end = putBytes(target, end, JSON_OF.title);
  end = putTextAt(target, end, row, 3, 'title', note);
  end = putBytes(target, end, JSON_OF.releaseYear);
  end = putInteger(target, end, valueAt(row, 4));
  end = putBytes(target, end, JSON_OF.description);
  end = putTextAt(target, end, row, 5, 'description', note);
  end = putBytes(target, end, JSON_OF.genres);
  end = putTextAt(target, end, row, 6, 'genres', note);
  end = putBytes(target, end, JSON_OF.developer);
  end = putTextAt(target, end, row, 7, 'developer', note);
  end = putBytes(target, end, JSON_OF.publisher);
  return putTextAt(target, end, row, 8, 'publisher', note);
}

/** A game's record from its number of covers to its slug, which it ends with: the same for all of a platform. */
export function encodeGameTail(platformRef: string, platformUrl: string): string {
  return `,"platform":${platformRef},"url":"${platformUrl}/game/`;
}

/** A platform as it stands inside games and covers. */
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

/** The columns of the table of files, in the order that {@link putFile} looks for them. */
export const FILE_COLUMNS = 'id, cover_id, variant, mime_type, width, height, size_bytes, path';

/**
 * Writes a file as it stands inside covers.
 * @param row of {@link FILE_COLUMNS}; its id was checked
 * @param url undefined: the path is put behind `urlHead`
 * @returns where it ends, at most {@link mostOfRow} of the row and the address further
 */
export function putFile(
  target: Buffer,
  at: number,
  row: RowView,
  url: string | undefined,
  urlHead: Uint8Array,
  note: Note,
): number {
  let end = putBytes(target, at, JSON_OF.id);
  end = putCountAt(target, end, row, 0, 'id');
  end = putBytes(target, end, JSON_OF.variant);
  end = putTextAt(target, end, row, 2, 'variant', note);
  end = putBytes(target, end, JSON_OF.mimeType);
  end = putTextAt(target, end, row, 3, 'mime_type', note);
  end = putBytes(target, end, JSON_OF.width);
  end = putCountAt(target, end, row, 4, 'width');
  end = putBytes(target, end, JSON_OF.height);
  end = putCountAt(target, end, row, 5, 'height');
  end = putBytes(target, end, JSON_OF.sizeBytes);
  end = putCountAt(target, end, row, 6, 'size_bytes');
  end = putBytes(target, end, JSON_OF.url);
  end = url === undefined ? putPlainUrl(target, end, row, 7, urlHead) : putText(target, end, url);
  target[end] = CLOSE;
  return end + 1;
}

/** At least as many bytes as the JSON of a row and so many bytes besides take. */
export function mostOfRow(row: RowView, besides: number): number {
  return FIXED_BYTES + mostBytes(bytesOf(row) + besides);
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
