/**
 * A catalogue of any size that is as messy as real ones, made from a seed: the same options give the
 * same rows on every machine. Rows are made each time a list is read and never stored, so a catalogue
 * of millions takes no more memory than one of ten.
 */

import { makeFiles, type Shape } from '#demo/catalogue/cover-files.ts';
import type { Catalogue } from '#demo/catalogue/load.ts';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { slugOf } from '#demo/catalogue/sample.ts';
import type { Row } from '#lib/database/database.ts';
import { makeDescription, makeTitle, nameOf, skewed } from './seeded-titles.ts';

export interface SeededOptions {
  readonly games: number;
  readonly seed: number;
  /** Of three or more platforms, one has no games and one has a single game. Default 60. */
  readonly platforms?: number;
  /** Gives an eighth of the games and covers, and their files, ids beyond 2^53. */
  readonly hugeIds?: boolean;
}

interface Platform {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  /** The index of its first game among all games, and the number of its games. */
  readonly firstGame: number;
  readonly games: number;
}

// Separate streams of random numbers, so that the data of one kind does not depend on another.
const STREAM = { game: 1, title: 2, slug: 3, covers: 4, files: 5, platform: 6 } as const;

/** The share of games that may have the title of another game: ports and coincidences. */
const SHARE_SHARED_TITLES = 0.27;
const SHARE_WITHOUT_COVERS = 0.08;
/** The chance of a further cover, which gives two covers a game, and an upper bound that is never reached. */
const SHARE_MORE_COVERS = 1 - (1 - SHARE_WITHOUT_COVERS) / 2;
const MOST_COVERS = 44;
const SHARE_PENDING = 0.08;
const SHARE_REJECTED = 0.03;
const SHARE_WITHOUT_TIME = 0.02;
const SHARE_WITHOUT_FILES = 0.002;
const SHARE_ELSEWHERE = 0.01;

const FIRST_APPROVAL = Date.UTC(2012, 0, 1) / 1000;
const LAST_APPROVAL = Date.UTC(2026, 9, 31) / 1000;
const DAY = 86_400;
/** Added to huge ids. It is beyond 2^53, and four times as much still fits a signed 64-bit integer. */
const HUGE = 2n ** 60n;
const LONGEST_SLUG = 160;
export const ACCOUNTS: readonly Row[] = [
  [1, 'user@example.org', 'User', 'user'],
  [2, 'moderator@example.org', 'Moderator', 'moderator'],
];

// In each list, the first ones are the most frequent.
const REGIONS = [
  ...['Japan', 'Unknown', 'USA', 'Europe', 'World', 'Asia', 'Germany', 'France', 'South Korea'],
  ...['Australia', 'Spain', 'United Kingdom', 'Italy', 'China', 'Taiwan', 'Brazil'],
  'Latin America',
];
const TYPES = ['front', 'back', 'disc', 'spine', 'cart'];
const GENRES = [
  ...['Action', 'Adventure', 'Strategy', 'Sports', 'Puzzle', 'Platformer', 'Racing', 'Shooter'],
  ...['Role-playing (RPG)', 'Simulation', 'Fighting', "Shoot'em up", 'Educational', 'Music'],
  ...['Board game', 'Visual novel', 'アクション', 'Jeu de société', 'Beat ’em up', 'Horror'],
];
const FIRMS = ['Soft', 'Games', 'Interactive', 'Entertainment', 'Co., Ltd.', '& Sons', 'Éditions'];
const MODELS = [
  ...['', ' 64', ' II', ' Advance', ' Pocket', ' CD', '³', ' (Digital)', ' + Plus', ' Été'],
];

/** Makes the catalogue of a seed. */
export function seededCatalogue(options: SeededOptions): Catalogue {
  const { games, seed, hugeIds = false } = options;
  const platforms = makePlatforms(options.platforms ?? 60, games, seed);
  const gameNumber = makeScatter(games * 1.5, seed);
  const coverNumber = makeScatter(games * MOST_COVERS, seed + 1);
  const idOf = (number: number, index: number): number | string =>
    hugeIds && index % 8 === 5 ? String(HUGE + BigInt(number)) : number;
  const gameId = (index: number) => idOf(gameNumber(index) + 1, index);

  function* makeGames(): Generator<Row> {
    const random = makeRandom();
    for (const platform of platforms) {
      for (let index = platform.firstGame; index < platform.firstGame + platform.games; index++) {
        random.start(seed, STREAM.game, index);
        const isShared = random.happens(SHARE_SHARED_TITLES);
        const titleIndex = isShared ? Math.floor(index * random.next() * random.next()) : index;
        // Recent decades have more games.
        const year = 2026 - Math.floor(52 * random.next() * Math.max(random.next(), random.next()));
        const facts = [
          random.happens(0.1) ? null : year,
          random.happens(0.05) ? makeDescription(random) : null,
          random.happens(0.5) ? null : makeGenres(random),
          random.happens(0.4) ? null : makeCompany(random, games),
          random.happens(0.4) ? null : makeCompany(random, games),
        ];
        random.start(seed, STREAM.title, titleIndex);
        const title = makeTitle(random);
        random.start(seed, STREAM.slug, index);
        yield [gameId(index), platform.id, makeSlug(random, title, index), title, ...facts];
      }
    }
  }

  function* eachCover(): Generator<{ row: Row; index: number; platform: Platform }> {
    const random = makeRandom();
    for (const platform of platforms) {
      for (let game = platform.firstGame; game < platform.firstGame + platform.games; game++) {
        random.start(seed, STREAM.covers, game);
        if (random.happens(SHARE_WITHOUT_COVERS)) continue;
        let time = 0;
        for (let number = 0; number < MOST_COVERS; number++) {
          if (number > 0 && !random.happens(SHARE_MORE_COVERS)) break;
          const index = coverNumber(game * MOST_COVERS + number);
          // A moderator often approves several covers of a game at once.
          if (number === 0 || !random.happens(0.2)) time = makeTime(random);
          const row = [idOf(index + 1, index), gameId(game), ...makeCover(random, time)];
          yield { row, index, platform };
        }
      }
    }
  }

  function* makeCovers(): Generator<Row> {
    for (const { row } of eachCover()) yield row;
  }

  function* makeCoverFiles(): Generator<Row> {
    const random = makeRandom();
    for (const { row, index, platform } of eachCover()) {
      random.start(seed, STREAM.files, index);
      if (random.happens(SHARE_WITHOUT_FILES)) continue;
      const more = [0, 1].filter(() => random.happens(0.5));
      const [id, , , type] = row as [number | string, unknown, unknown, string | null];
      const firstId = typeof id === 'string' ? String(BigInt(id) * 4n) : id * 4;
      const isElsewhere = random.happens(SHARE_ELSEWHERE);
      const folder = (isElsewhere ? 'https://images.example.org/' : '') + platform.slug;
      const shapes: Shape[] = [
        [1, 1],
        [5, 7],
        [7, 5],
      ];
      const shape = shapes[platform.id % 3];
      yield* makeFiles(random, 1 + more.length, firstId, id, type, shape, folder);
    }
  }

  return {
    platforms: platforms.map(({ id, slug, name }) => [id, slug, name]),
    games: { [Symbol.iterator]: makeGames },
    covers: { [Symbol.iterator]: makeCovers },
    coverFiles: { [Symbol.iterator]: makeCoverFiles },
    accounts: ACCOUNTS,
  };
}

/** Distributes the games: the k-th largest platform has about 1/k as many as the largest one. */
function makePlatforms(count: number, games: number, seed: number): Platform[] {
  const special = count >= 3 && games > 0 ? [1, 0] : [];
  const weights = Array.from({ length: count - special.length }, (_, rank) => 1 / (rank + 2));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let left = games - (special[0] ?? 0);
  const sizes = weights.map((weight) => {
    const size = Math.min(left, Math.max(1, Math.floor((games * weight) / total)));
    left -= size;
    return size;
  });
  // The largest platform gets the remainder of the rounding.
  if (sizes.length > 0) sizes[0] += left;
  const random = makeRandom();
  let firstGame = 0;
  return [...sizes, ...special].map((size, index) => {
    random.start(seed, STREAM.platform, index);
    const id = 3 + index * 7 + random.below(7);
    const made = nameOf(random.below(20_000)) + random.pick(MODELS);
    const name = random.happens(0.08) ? `ゲームキング ${id}` : made;
    const slug = `${slugOf(name) || 'platform'}-${index}`;
    firstGame += size;
    return { id, slug, name, firstGame: firstGame - size, games: size };
  });
}

/**
 * Makes distinct numbers for the indexes below `count`, in no order and with gaps.
 * @returns a function from an index to a number below 2^32
 */
function makeScatter(count: number, seed: number): (index: number) => number {
  let bits = 4;
  while (2 ** bits < count) bits++;
  if (bits > 32) throw new RangeError(`${count} ids do not fit 32 bits: make fewer games.`);
  const mask = 2 ** bits - 1;
  const half = bits >> 1;
  const odd = (0x9e3779b1 + 2 * seed) | 1;
  // Each step is invertible within these bits, so no two indexes give the same number.
  return (index) => {
    let number = (Math.imul(index, odd) & mask) >>> 0;
    number ^= number >>> half;
    number = (Math.imul(number, 0x85ebca6b) & mask) >>> 0;
    return (number ^ (number >>> half)) >>> 0;
  };
}

// The index at the end makes the slug unique without a list of slugs.
function makeSlug(random: Random, title: string, index: number): string {
  let slug = slugOf(title).slice(0, LONGEST_SLUG) || 'game';
  if (random.happens(0.005))
    slug = slug.toUpperCase().replaceAll('-', random.pick(['_', '.', '~']));
  return `${slug}-${index.toString(36)}`;
}

function makeGenres(random: Random): string {
  const genres = new Set([GENRES[skewed(random, GENRES.length)]]);
  while (genres.size < 4 && random.happens(0.4)) genres.add(GENRES[skewed(random, GENRES.length)]);
  return [...genres].join(', ');
}

/** A few companies have made hundreds of games, most have made two or three. */
function makeCompany(random: Random, games: number): string {
  const number = skewed(random, 20 + games / 10);
  return `${nameOf((number * 31 + 7) % 900_000)} ${FIRMS[number % FIRMS.length]}`;
}

/** The region, the type, the status and the time of approval of a cover. */
function makeCover(random: Random, time: number): Row {
  const region = REGIONS[skewed(random, REGIONS.length)];
  const type = random.happens(0.8) ? 'front' : random.pick([null, ...TYPES]);
  const share = random.next();
  const isPending = share < SHARE_PENDING;
  const isRejected = !isPending && share < SHARE_PENDING + SHARE_REJECTED;
  // Some rejected covers were approved before.
  const hasTime = isPending
    ? random.happens(0.02)
    : random.happens(isRejected ? 0.12 : 1 - SHARE_WITHOUT_TIME);
  return [
    random.happens(0.02) ? null : random.happens(0.005) ? region.toLowerCase() : region,
    type,
    isPending ? 'pending' : isRejected ? 'rejected' : 'approved',
    hasTime ? new Date(time * 1000).toISOString().slice(0, 19).replace('T', ' ') : null,
  ];
}

function makeTime(random: Random): number {
  const time = FIRST_APPROVAL + random.below(LAST_APPROVAL - FIRST_APPROVAL);
  // Imports give many covers the same time.
  return random.happens(0.06) ? time - (time % DAY) : time;
}
