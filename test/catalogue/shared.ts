/**
 * A real catalogue of 148,454 games, for tests and benchmarks on machines that have it next to the
 * repository (../shared/catalogue). Its data is CC BY-SA and not part of this project.
 *
 * The data has no ids and no times of approval. They are derived from each row, so every load gives
 * the same rows; the ids are in no order.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, gunzipSync } from 'node:zlib';
import type { Catalogue } from '#demo/catalogue/load.ts';
import type { Row } from '#lib/database/database.ts';
import { ACCOUNTS } from './seeded.ts';

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

/** @returns undefined if the data is not available */
export function sharedCatalogue(): Catalogue | undefined {
  if (!existsSync(join(DIRECTORY, 'covers.jsonl.gz'))) return undefined;
  const platformLines = lines('platforms');
  const gameLines = lines('games');
  const coverLines = lines('covers');

  const platformId = shuffledIds(platformLines.length);
  const gameId = shuffledIds(gameLines.length);
  const coverId = shuffledIds(coverLines.length);
  const platformIds = new Map<string, number>();
  platformLines.forEach((line, index) => {
    platformIds.set(JSON.parse(line).slug, platformId(index));
  });
  const gameIds = new Map<string, number>();
  gameLines.forEach((line, index) => {
    const { platform, slug } = JSON.parse(line) as Game;
    gameIds.set(`${platform}/${slug}`, gameId(index));
  });

  const rows = <T>(
    list: readonly string[],
    toRows: (found: T, index: number) => Iterable<Row>,
  ) => ({
    *[Symbol.iterator]() {
      for (let index = 0; index < list.length; index++) {
        yield* toRows(JSON.parse(list[index]) as T, index);
      }
    },
  });

  return {
    platforms: rows<{ slug: string; name: string }>(platformLines, ({ slug, name }, index) => [
      [platformId(index), slug, name],
    ]),
    games: rows<Game>(gameLines, (game, index) => [
      [
        ...[gameId(index), known(platformIds, game.platform), game.slug, game.title],
        ...[game.release_year, game.description, game.genres, game.developer, game.publisher],
      ],
    ]),
    covers: rows<Cover>(coverLines, (cover, index) => [
      [
        ...[coverId(index), known(gameIds, `${cover.platform}/${cover.game}`)],
        ...[cover.region, cover.type, cover.status],
        approvedAt(cover.status, crc32(coverLines[index])),
      ],
    ]),
    coverFiles: rows<Cover>(coverLines, (cover, index) =>
      cover.files.map((file, number) => [
        // The largest cover id is the number of covers; at most three files belong to one.
        coverId(coverLines.length - 1 - index) * 3 + number,
        coverId(index),
        file.variant,
        MIME_TYPES[file.format] ?? null,
        file.width,
        file.height,
        file.bytes,
        `covers/${file.sha1.slice(0, 2)}/${file.sha1}.${file.format}`,
      ]),
    ),
    accounts: ACCOUNTS,
  };
}

function lines(name: string): string[] {
  const bytes = gunzipSync(readFileSync(join(DIRECTORY, `${name}.jsonl.gz`)));
  return bytes.toString('utf8').trimEnd().split('\n');
}

/** Shuffles the numbers from 1 to `count`. */
function shuffledIds(count: number): (index: number) => number {
  let step = Math.floor(count * 0.618) + 1;
  while (commonDivisor(step, count) !== 1) step++;
  return (index) => ((index * step) % count) + 1;
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

// A few approved covers have no time, and a few withdrawn ones still have one. A tenth have a time at
// midnight, so that equal times occur.
function approvedAt(status: string, hash: number): string | null {
  const hasTime = status === 'approved' ? hash % 32 !== 0 : hash % 8 === 0;
  if (!hasTime) return null;
  let seconds = FIRST_APPROVAL + (hash % (LAST_APPROVAL - FIRST_APPROVAL));
  if ((hash >>> 8) % 10 === 0) seconds -= seconds % DAY;
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

function known(ids: ReadonlyMap<string, number>, key: string): number {
  const id = ids.get(key);
  if (id === undefined)
    throw new Error(`The shared catalogue refers to ${key}, which it does not contain.`);
  return id;
}
