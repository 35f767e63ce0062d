/**
 * The JSON of each resource, member by member in the order of the contract. Built by hand because
 * ids beyond 2^53 must stay exact and because a record is put together from pieces.
 */
import type { Value } from '../database/database.ts';
import type { Settings } from '../format/manifest.ts';

// Nearly every short text is plain ASCII without quotes: no need for the general way.
const PLAIN = /^[ !#-[\]-~]*$/;

/** JSON of a text. */
export function encodeText(value: string | null): string {
  if (value === null) return 'null';
  return value.length < 200 && PLAIN.test(value)
    ? `"${value}"`
    : JSON.stringify(value.toWellFormed());
}

/** A game's record up to its publisher; {@link encodeGameTail} ends it. */
export function encodeGameHead(
  id: string,
  slug: string,
  title: string,
  year: number | null,
  description: string | null,
  genres: string | null,
  developer: string | null,
  publisher: string | null,
): string {
  return `{"id":${id},"slug":"${slug}","title":${encodeText(title)},"release_year":${year},"description":${encodeText(description)},"genres":${encodeText(genres)},"developer":${encodeText(developer)},"publisher":${encodeText(publisher)}`;
}

export function encodeGameTail(
  coverCount: number,
  platformRef: string,
  platformUrl: string,
  slug: string,
): string {
  return `,"cover_count":${coverCount},"platform":${platformRef},"url":"${platformUrl}/game/${slug}"}`;
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

/** A game as it stands inside covers. */
export function encodeCoverGame(slug: string, title: string, platformRef: string): string {
  return `{"slug":"${slug}","title":${encodeText(title)},"platform":${platformRef}}`;
}

/**
 * A cover's record up to its files; the files and `]}` end it.
 * @param region, @param type as JSON
 */
export function encodeCoverHead(
  id: string,
  region: string,
  type: string,
  approvedAt: string | null,
  game: string,
): string {
  const time = approvedAt === null ? 'null' : `"${approvedAt}"`;
  return `{"id":${id},"region":${region},"type":${type},"approved_at":${time},"game":${game},"files":[`;
}

export function encodeFile(
  id: string,
  variant: string | null,
  mimeType: string | null,
  width: Value,
  height: Value,
  sizeBytes: Value,
  url: string,
): string {
  return `{"id":${id},"variant":${encodeText(variant)},"mime_type":${encodeText(mimeType)},"width":${width},"height":${height},"size_bytes":${sizeBytes},"url":${encodeText(url)}}`;
}

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
