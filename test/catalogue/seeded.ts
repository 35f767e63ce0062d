/**
 * A catalogue of any size that is as messy as real ones, made from a seed: the same options give the
 * same rows on every machine. Rows are made each time a list is read and never stored, so a catalogue
 * of millions takes no more memory than one of ten.
 */
import type { Row } from '../../database/database.ts';
import { makeFiles, type Shape } from '../../demo/catalogue/cover-files.ts';
import type { Catalogue } from '../../demo/catalogue/load.ts';
import { makeRandom, type Random } from '../../demo/catalogue/random.ts';
import { slugOf } from '../../demo/catalogue/sample.ts';
import { makePlatforms, type SeededPlatform } from './seeded-platforms.ts';
import { makeCompany, makeDescription, makeGenres, makeYear } from './seeded-texts.ts';
import { makeTitle } from './seeded-titles.ts';
import { makeSkew } from './seeded-words.ts';

export interface SeededOptions {
  readonly games: number;
  readonly seed: number;
  /** Of three or more platforms, one has no games and one has a single game. Default 60. */
  readonly platforms?: number;
  /** The average, 0 or more. Default 2. */
  readonly coversPerGame?: number;
  /** The average, 1 to 3. Default 2. */
  readonly filesPerCover?: number;
  /** Gives an eighth of the games and covers, and their files, ids beyond 2^53. */
  readonly hugeIds?: boolean;
}

// Separate streams of random numbers, so that the data of one kind does not depend on another.
const STREAM = { game: 1, title: 2, slug: 3, covers: 4, files: 5 } as const;

/** The share of games that may have the title of another game: ports and coincidences. */
const SHARE_SHARED_TITLES = 0.27;
const SHARE_WITHOUT_COVERS = 0.08;
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

const REGIONS = [
  ...['Japan', 'Unknown', 'USA', 'Europe', 'World', 'Asia', 'Germany', 'France', 'South Korea'],
  ...['Australia', 'Spain', 'United Kingdom', 'Italy', 'China', 'Taiwan', 'Brazil', 'Netherlands'],
  ...['Poland', 'Russia', 'Canada', 'Czech Republic', 'Sweden', 'Portugal', 'Latin America'],
];
const regionIndex = makeSkew(REGIONS.length, 3);
const TYPES = ['front', 'back', 'disc', 'spine', 'cart'];

/**
 * Makes the catalogue of a seed.
 * @throws RangeError if an option is not in the range that {@link SeededOptions} gives
 */
export function seededCatalogue(options: SeededOptions): Catalogue {
  const { games, seed, coversPerGame = 2, filesPerCover = 2, hugeIds = false } = options;
  const platformCount = options.platforms ?? 60;
  check('games', games, 0, Number.isInteger(games));
  check('platforms', platformCount, games > 0 ? 1 : 0, Number.isInteger(platformCount));
  check('coversPerGame', coversPerGame, 0, true);
  check('filesPerCover', filesPerCover, 1, filesPerCover <= 3);
  const platforms = makePlatforms(platformCount, games, seed);
  // The chance of a further cover that gives the average, and an upper bound that is never reached.
  const mean = coversPerGame / (1 - SHARE_WITHOUT_COVERS);
  const isSparse = mean < 1;
  const shareMore = isSparse ? 0 : 1 - 1 / mean;
  const mostCovers = Math.max(40, Math.ceil(20 * mean));
  const gameNumber = makeScatter(games * 1.5, seed);
  const coverNumber = makeScatter(games * mostCovers, seed + 1);
  const isHuge = (index: number) => hugeIds && index % 8 === 5;
  const idOf = (number: number, index: number): number | string =>
    isHuge(index) ? String(HUGE + BigInt(number)) : number;
  const gameId = (index: number) => idOf(gameNumber(index) + 1, index);

  function* makeGames(): Generator<Row> {
    const random = makeRandom();
    for (const platform of platforms) {
      for (let index = platform.firstGame; index < platform.firstGame + platform.games; index++) {
        random.start(seed, STREAM.game, index);
        const isShared = random.happens(SHARE_SHARED_TITLES);
        const titleIndex = isShared ? Math.floor(index * random.next() * random.next()) : index;
        const facts = [
          makeYear(random),
          makeDescription(random),
          makeGenres(random),
          makeCompany(random, games),
          makeCompany(random, games),
        ];
        random.start(seed, STREAM.title, titleIndex);
        const title = makeTitle(random);
        random.start(seed, STREAM.slug, index);
        yield [gameId(index), platform.id, makeSlug(random, title, index), title, ...facts];
      }
    }
  }

  function* eachCover(): Generator<{ row: Row; index: number; platform: SeededPlatform }> {
    const random = makeRandom();
    for (const platform of platforms) {
      for (let game = platform.firstGame; game < platform.firstGame + platform.games; game++) {
        random.start(seed, STREAM.covers, game);
        if (random.happens(isSparse ? 1 - coversPerGame : SHARE_WITHOUT_COVERS)) continue;
        let time = 0;
        for (let number = 0; number < mostCovers; number++) {
          if (number > 0 && !random.happens(shareMore)) break;
          const index = coverNumber(game * mostCovers + number);
          // A moderator often approves several covers of a game at once.
          if (number === 0 || !random.happens(0.2)) time = makeTime(random);
          const [region, type, status] = [makeRegion(random), makeType(random), makeStatus(random)];
          const row = [idOf(index + 1, index), gameId(game), region, type, status];
          yield { row: [...row, hasTime(random, status) ? timeOf(time) : null], index, platform };
        }
      }
    }
  }

  function* makeCovers(): Generator<Row> {
    for (const { row } of eachCover()) yield row;
  }

  function* makeCoverFiles(): Generator<Row> {
    const random = makeRandom();
    const shareMoreFiles = (filesPerCover - 1) / 2;
    for (const { row, index, platform } of eachCover()) {
      random.start(seed, STREAM.files, index);
      if (random.happens(SHARE_WITHOUT_FILES)) continue;
      let count = 1;
      if (random.happens(shareMoreFiles)) count++;
      if (random.happens(shareMoreFiles)) count++;
      const [id, , , type] = row as [number | string, unknown, unknown, string | null];
      const firstId = typeof id === 'string' ? String(BigInt(id) * 4n) : id * 4;
      const isElsewhere = random.happens(SHARE_ELSEWHERE);
      const folder = (isElsewhere ? 'https://images.example.org/' : '') + platform.slug;
      yield* makeFiles(random, count, firstId, id, type, shapeOf(platform), folder);
    }
  }

  return {
    platforms: again(function* () {
      for (const { id, slug, name } of platforms) yield [id, slug, name];
    }),
    games: again(makeGames),
    covers: again(makeCovers),
    coverFiles: again(makeCoverFiles),
    accounts: [
      [1, 'user@example.org', 'User', 'user'],
      [2, 'moderator@example.org', 'Moderator', 'moderator'],
    ],
  };
}

function again(make: () => Iterator<Row>): Iterable<Row> {
  return { [Symbol.iterator]: make };
}

function check(name: string, value: number, least: number, holds: boolean): void {
  if (value >= least && Number.isFinite(value) && holds) return;
  throw new RangeError(`A seeded catalogue cannot have ${name}: ${value}.`);
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

function makeRegion(random: Random): string | null {
  if (random.happens(0.02)) return null;
  const region = REGIONS[regionIndex(random)];
  return random.happens(0.005) ? region.toLowerCase() : region;
}

function makeType(random: Random): string | null {
  if (random.happens(0.8)) return 'front';
  return random.happens(0.04) ? null : random.pick(TYPES);
}

function makeStatus(random: Random): string {
  const share = random.next();
  if (share < SHARE_PENDING) return 'pending';
  return share < SHARE_PENDING + SHARE_REJECTED ? 'rejected' : 'approved';
}

// Some rejected covers were approved before.
function hasTime(random: Random, status: string): boolean {
  if (status === 'approved') return !random.happens(SHARE_WITHOUT_TIME);
  return random.happens(status === 'rejected' ? 0.12 : 0.02);
}

function makeTime(random: Random): number {
  const time = FIRST_APPROVAL + random.below(LAST_APPROVAL - FIRST_APPROVAL);
  // Imports give many covers the same time.
  return random.happens(0.06) ? time - (time % DAY) : time;
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

function shapeOf({ id }: SeededPlatform): Shape {
  return id % 3 === 0 ? [1, 1] : id % 3 === 1 ? [5, 7] : [7, 5];
}
