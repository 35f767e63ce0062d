/**
 * The sample catalogue: a few hundred well-known games on a dozen platforms, for the demo, the
 * tests and the examples of the documentation. `games.txt` and `titles.txt` contain the facts. The
 * covers are invented, the same at each call, and their images do not exist.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import type { Row } from '../../lib/database/database.ts';
import { makeFiles, type Shape } from './cover-files.ts';
import type { Catalogue } from './load.ts';
import { makeRandom } from './random.ts';

const FIRST_GAME_ID = 1001;
const FIRST_COVER_ID = 50_001;
const FIRST_FILE_ID = 200_001;
/** Covers are uploaded in any order, not in the order of the games. Not a divisor of their number. */
const COVER_STEP = 563;

const FIRST_APPROVAL = Date.UTC(2018, 4, 1) / 1000;
const LAST_APPROVAL = Date.UTC(2026, 9, 31) / 1000;
const SHARE_WITHOUT_COVERS = 0.1;
const SHARE_PENDING = 0.08;
const SHARE_REJECTED = 0.03;
const SHARE_WITHOUT_TIME = 0.03;
/** The share of covers that were approved in the same second as the cover before them. */
const SHARE_SAME_SECOND = 0.15;
const REGIONS = ['Japan', 'USA', 'Europe', 'Australia', 'Germany', 'Brazil'];

interface Game {
  /** Of its platform and of itself: "snes/chrono-trigger". */
  readonly path: string;
  /** "cart" or "disc". */
  readonly medium: string;
  readonly shape: Shape;
  readonly row: Row;
}

type Cover = readonly [
  region: string | null,
  type: string | null,
  status: string,
  approvedAt: string | null,
  files: number,
];

// The game of the documentation. Its covers have each state and each unknown value.
const EXAMPLE = 'snes/chrono-trigger';
const EXAMPLE_COVERS: readonly Cover[] = [
  ['Japan', 'front', 'approved', '2019-03-02 10:15:00', 3],
  ['Japan', 'back', 'approved', '2019-03-02 10:15:00', 2],
  ['USA', 'front', 'approved', '2021-08-14 18:02:27', 3],
  ['USA', 'back', 'approved', null, 1],
  ['USA', 'cart', 'approved', '2026-10-30 07:59:59', 2],
  ['USA', 'spine', 'pending', null, 1],
  // Approved first, then withdrawn.
  ['Europe', 'front', 'rejected', '2020-01-01 00:00:00', 1],
  [null, 'front', 'approved', '2022-12-31 23:59:59', 1],
  ['World', null, 'approved', '2024-02-29 12:00:00', 1],
];

/** Makes every row of the sample catalogue, the same at each call. */
export function sampleCatalogue(): Catalogue {
  const { platforms, games } = readGames();
  const covers: Row[] = [];
  const coverFiles: Row[] = [];
  const random = makeRandom();
  const made = games.flatMap((game) => makeCovers(game).map((cover) => ({ game, cover })));
  for (const [index, { game, cover }] of made.entries()) {
    const [region, type, status, approvedAt, files] = cover;
    const id = FIRST_COVER_ID + ((index * COVER_STEP) % made.length);
    covers.push([id, game.row[0], region, type, status, approvedAt]);
    random.start(id, 0, 0);
    const firstFile = FIRST_FILE_ID + coverFiles.length;
    const [first, ...others] = makeFiles(random, files, firstFile, id, type, game.shape, game.path);
    coverFiles.push([...first.slice(0, 7), withOddPath(id, String(first[7]))], ...others);
  }
  const ids = new Map(games.map((game) => [game.path, game.row[0]]));
  const gameTitles = linesOf('titles.txt').flatMap((line) => {
    const [game = '', ...titles] = line.split(' | ');
    return titles.map((title): Row => [ids.get(game) as number, title]);
  });
  return {
    platforms,
    games: games.map(({ row }) => row),
    covers,
    coverFiles,
    gameTitles,
    accounts: [],
  };
}

/** Makes the slug of a title: "Pokémon Red Version" becomes "pokemon-red-version". */
export function slugOf(title: string): string {
  return title
    .normalize('NFKD')
    .replace(/[\u0300-\u036f'’]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

function linesOf(file: string): string[] {
  const text = readFileSync(path.join(import.meta.dirname, file), 'utf8');
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

function readGames(): { platforms: Row[]; games: Game[] } {
  const platforms: Row[] = [];
  const games: Game[] = [];
  let [platform, medium, shape]: [string, string, Shape] = ['', '', [1, 1]];
  for (const line of linesOf('games.txt')) {
    const fields = line.split('|').map((field) => field.trim());
    if (line.startsWith('= ')) {
      const [slug, name, ...others] = fields;
      platform = slug.slice(2);
      platforms.push([platforms.length + 1, platform, name]);
      const [width, height] = others[1].split(':').map(Number);
      [medium, shape] = [others[0], [width, height]];
      continue;
    }
    const [heading, year, genres, developer, publisher, description] = fields;
    const [, title, given] = /^(.+?)(?: \[([a-z0-9-]+)\])?$/.exec(heading) ?? [];
    const slug = given ?? slugOf(title);
    const facts = [Number(year), description, genres, developer, publisher];
    const row = [
      ...[FIRST_GAME_ID + games.length, platforms.length, slug, title],
      ...facts.map((fact) => fact || null),
    ];
    games.push({ path: `${platform}/${slug}`, medium, shape, row });
  }
  return { platforms, games };
}

function makeCovers({ path: game, medium, row }: Game): readonly Cover[] {
  if (game === EXAMPLE) return EXAMPLE_COVERS;
  const random = makeRandom(crc32(game));
  if (random.happens(SHARE_WITHOUT_COVERS)) return [];
  // A game with a Japanese title was sold only in Japan.
  const isJapanese = /[\u3040-\u9fff]/.test(String(row[3]));
  const count = isJapanese ? 1 : 1 + random.below(4) + random.below(3);
  const start = isJapanese || random.happens(0.7) ? 0 : 1;
  const covers: Cover[] = [];
  for (const region of REGIONS.slice(start, count)) {
    const types = ['front'];
    if (random.happens(0.35)) types.push('back');
    if (random.happens(0.1)) types.push('spine');
    if (random.happens(0.2)) types.push(medium);
    for (const type of types) {
      const fate = random.next();
      const isPending = fate < SHARE_PENDING;
      const isRejected = !isPending && fate < SHARE_PENDING + SHARE_REJECTED;
      const status = isPending ? 'pending' : isRejected ? 'rejected' : 'approved';
      const time = FIRST_APPROVAL + random.below(LAST_APPROVAL - FIRST_APPROVAL);
      const before = covers.at(-1)?.[3] ?? null;
      const isSame = random.happens(SHARE_SAME_SECOND) && before !== null;
      const hasTime = status === 'approved' && !random.happens(SHARE_WITHOUT_TIME);
      const approvedAt = isSame ? before : timeOf(time);
      covers.push([region, type, status, hasTime ? approvedAt : null, 1 + random.below(3)]);
    }
  }
  return covers;
}

/** A path may contain characters that must be encoded in a URL, or be a URL of another host. */
function withOddPath(cover: number, file: string): string {
  if (cover % 50 === 3) return `https://images.example.org/${file}`;
  return cover % 50 === 4 ? file.replace(/\/(\d+)-/, '/scan é ($1) ') : file;
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}
