/**
 * A real catalogue of 148,454 games, for tests and benchmarks on machines that have it beside the
 * repository (../shared/catalogue). Its data is CC BY-SA and no part of this project.
 *
 * What a database adds to the data is made from each row alone, so every load gives the same rows:
 * ids, which ascend with nothing, and times of approval.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, gunzipSync } from 'node:zlib';
import type { Row } from '../../database/database.ts';
import type { Catalogue } from './catalogue.ts';

const DIRECTORY = join(import.meta.dirname, '../../../shared/catalogue');
const MIME_TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
};
const FIRST_APPROVAL = Date.UTC(2015, 0, 1) / 1000;
const LAST_APPROVAL = Date.UTC(2026, 11, 31) / 1000;
const DAY = 86_400;

interface Game {
  platform: string;
  slug: string;
  title: string;
  release_year: number | null;
  description: string | null;
  genres: string | null;
  developer: string | null;
  publisher: string | null;
}

interface Cover {
  platform: string;
  game: string;
  region: string;
  type: string;
  status: string;
  files: {
    variant: string;
    format: string;
    width: number;
    height: number;
    bytes: number;
    sha1: string;
  }[];
}

/** @returns undefined where the data is not there */
export function sharedCatalogue(): Catalogue | undefined {
  if (!existsSync(join(DIRECTORY, 'covers.jsonl.gz'))) return undefined;
  const platformLines = lines('platforms');
  const gameLines = lines('games');
  const coverLines = lines('covers');

  const platformId = shuffledIds(platformLines.length);
  const gameId = shuffledIds(gameLines.length);
  const coverId = shuffledIds(coverLines.length);
  const platformIds = new Map<string, number>();
  platformLines.forEach((line, place) => {
    platformIds.set(JSON.parse(line).slug, platformId(place));
  });
  const gameIds = new Map<string, number>();
  gameLines.forEach((line, place) => {
    const { platform, slug } = JSON.parse(line) as Game;
    gameIds.set(`${platform}/${slug}`, gameId(place));
  });

  const rows = <T>(
    list: readonly string[],
    toRows: (found: T, place: number) => Iterable<Row>,
  ) => ({
    *[Symbol.iterator]() {
      for (let place = 0; place < list.length; place++) {
        yield* toRows(JSON.parse(list[place]) as T, place);
      }
    },
  });

  return {
    platforms: rows<{ slug: string; name: string }>(platformLines, ({ slug, name }, place) => [
      [platformId(place), slug, name],
    ]),
    games: rows<Game>(gameLines, (game, place) => [
      [
        gameId(place),
        known(platformIds, game.platform),
        game.slug,
        game.title,
        game.release_year,
        game.description,
        game.genres,
        game.developer,
        game.publisher,
      ],
    ]),
    covers: rows<Cover>(coverLines, (cover, place) => [
      [
        coverId(place),
        known(gameIds, `${cover.platform}/${cover.game}`),
        cover.region,
        cover.type,
        cover.status,
        approvedAt(cover.status, crc32(coverLines[place])),
      ],
    ]),
    coverFiles: rows<Cover>(coverLines, (cover, place) =>
      cover.files.map((file, number) => [
        // The largest cover id is the number of covers; at most three files belong to one.
        coverId(coverLines.length - 1 - place) * 3 + number,
        coverId(place),
        file.variant,
        MIME_TYPES[file.format] ?? null,
        file.width,
        file.height,
        file.bytes,
        `covers/${file.sha1.slice(0, 2)}/${file.sha1}.${file.format}`,
      ]),
    ),
    accounts: [
      [1, 'user@example.org', 'User', 'user'],
      [2, 'moderator@example.org', 'Moderator', 'moderator'],
    ],
  };
}

function lines(name: string): string[] {
  const bytes = gunzipSync(readFileSync(join(DIRECTORY, `${name}.jsonl.gz`)));
  return bytes.toString('utf8').trimEnd().split('\n');
}

/** The numbers from 1 to `count`, each once, in an order that looks like none. */
function shuffledIds(count: number): (place: number) => number {
  let step = Math.floor(count * 0.618) + 1;
  while (commonDivisor(step, count) !== 1) step++;
  return (place) => ((place * step) % count) + 1;
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

// A few approved covers have no time, and a few others had one before they were withdrawn. A tenth
// share the midnight of a day, so that equal times occur.
function approvedAt(status: string, hash: number): string | null {
  const hasTime = status === 'approved' ? hash % 32 !== 0 : hash % 8 === 0;
  if (!hasTime) return null;
  let seconds = FIRST_APPROVAL + (hash % (LAST_APPROVAL - FIRST_APPROVAL));
  if ((hash >>> 8) % 10 === 0) seconds -= seconds % DAY;
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

function known(ids: ReadonlyMap<string, number>, key: string): number {
  const id = ids.get(key);
  if (id === undefined) throw new Error(`The shared catalogue refers to ${key}, which it lacks.`);
  return id;
}
