/**
 * The JSON of each resource, member by member in the order of the contract. Built by hand because
 * ids beyond 2^53 must stay exact and because a record is put together from pieces.
 */
import type { Value } from '../database/database.ts';
import type { Settings } from '../format/manifest.ts';
import { mostBytes, putAscii, putInteger, putText } from './json-bytes.ts';

/** JSON of a text. */
export function encodeText(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value.toWellFormed());
}

/** A game as the first part of its record shows it. */
export interface GameHead {
  readonly id: Value;
  readonly slug: string;
  readonly title: string;
  readonly year: number | null;
  readonly description: string | null;
  readonly genres: string | null;
  readonly developer: string | null;
  readonly publisher: string | null;
}

/** At least as many bytes as {@link putGameHead} writes. */
export function mostOfGameHead(game: GameHead): number {
  const { slug, title, description, genres, developer, publisher } = game;
  const optional = [description, genres, developer, publisher];
  const texts = optional.reduce((units, text) => units + (text?.length ?? 0), 0);
  return FIXED_BYTES + mostBytes(slug.length + title.length + texts);
}

/** Writes a game's record up to its publisher. @returns where it ends */
export function putGameHead(target: Buffer, at: number, game: GameHead): number {
  let end = putAscii(target, at, '{"id":');
  end = putInteger(target, end, game.id);
  end = putAscii(target, end, ',"slug":"');
  end = putAscii(target, end, game.slug);
  end = putAscii(target, end, '","title":');
  end = putText(target, end, game.title);
  end = putAscii(target, end, ',"release_year":');
  end = putInteger(target, end, game.year);
  end = putAscii(target, end, ',"description":');
  end = putText(target, end, game.description);
  end = putAscii(target, end, ',"genres":');
  end = putText(target, end, game.genres);
  end = putAscii(target, end, ',"developer":');
  end = putText(target, end, game.developer);
  end = putAscii(target, end, ',"publisher":');
  return putText(target, end, game.publisher);
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

export interface CoverFile {
  readonly id: Value;
  readonly variant: string | null;
  readonly mimeType: string | null;
  readonly width: Value;
  readonly height: Value;
  readonly sizeBytes: Value;
  readonly url: string;
}

/** At least as many bytes as {@link putFile} writes. */
export function mostOfFile({ variant, mimeType, url }: CoverFile): number {
  return FIXED_BYTES + mostBytes((variant?.length ?? 0) + (mimeType?.length ?? 0) + url.length);
}

/** Writes a file as it stands inside covers. @returns where it ends */
export function putFile(target: Buffer, at: number, file: CoverFile): number {
  let end = putAscii(target, at, '{"id":');
  end = putInteger(target, end, file.id);
  end = putAscii(target, end, ',"variant":');
  end = putText(target, end, file.variant);
  end = putAscii(target, end, ',"mime_type":');
  end = putText(target, end, file.mimeType);
  end = putAscii(target, end, ',"width":');
  end = putInteger(target, end, file.width);
  end = putAscii(target, end, ',"height":');
  end = putInteger(target, end, file.height);
  end = putAscii(target, end, ',"size_bytes":');
  end = putInteger(target, end, file.sizeBytes);
  end = putAscii(target, end, ',"url":');
  end = putText(target, end, file.url);
  return putAscii(target, end, '}');
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
