/**
 * The sample catalogue: a few hundred well-known games on a dozen platforms, for the demo, the
 * tests and the examples of the documentation. `games.txt` and `titles.txt` contain the
 * facts. The covers are invented, the same at each call, and their images do not exist.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import type { Row } from '../../database/database.ts';
import { makeFiles, type Shape } from './cover-files.ts';
import type { Catalogue } from './load.ts';
import { makeRandom } from './random.ts';

const GAMES_FILE = path.join(import.meta.dirname, 'games.txt');
const TITLES_FILE = path.join(import.meta.dirname, 'titles.txt');

const FIRST_PLATFORM_ID = 1;
const FIRST_GAME_ID = 1001;
const FIRST_COVER_ID = 50_001;
const FIRST_FILE_ID = 200_001;

const FIRST_APPROVAL = Date.UTC(2018, 4, 1) / 1000;
const LAST_APPROVAL = Date.UTC(2026, 9, 31) / 1000;
const SHARE_WITHOUT_COVERS = 0.1;
const SHARE_PENDING = 0.08;
const SHARE_REJECTED = 0.03;
const SHARE_WITHOUT_TIME = 0.03;
/** The share of covers that were approved in the same second as the cover before them. */
const SHARE_SAME_SECOND = 0.15;

interface Platform {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly medium: string;
  readonly shape: Shape;
}

interface Game {
  readonly id: number;
  readonly platform: Platform;
  readonly slug: string;
  readonly row: Row;
}

interface Cover {
  readonly game: Game;
  readonly region: string | null;
  readonly type: string | null;
  readonly status: string;
  readonly approvedAt: string | null;
  readonly files: number;
}

// The game of the documentation. Its covers have each state and each unknown value.
const EXAMPLE = 'snes/chrono-trigger';
const EXAMPLE_COVERS: readonly Omit<Cover, 'game'>[] = [
  cover('Japan', 'front', 'approved', '2019-03-02 10:15:00', 3),
  cover('Japan', 'back', 'approved', '2019-03-02 10:15:00', 2),
  cover('USA', 'front', 'approved', '2021-08-14 18:02:27', 3),
  cover('USA', 'back', 'approved', null, 1),
  cover('USA', 'cart', 'approved', '2026-10-30 07:59:59', 2),
  cover('USA', 'spine', 'pending', null, 1),
  // Approved first, then withdrawn.
  cover('Europe', 'front', 'rejected', '2020-01-01 00:00:00', 1),
  cover(null, 'front', 'approved', '2022-12-31 23:59:59', 1),
  cover('World', null, 'approved', '2024-02-29 12:00:00', 1),
];

/** Makes every row of the sample catalogue, the same at each call. */
export function sampleCatalogue(): Catalogue {
  const { platforms, games } = readGames(readFileSync(GAMES_FILE, 'utf8'));
  const covers = games.flatMap(makeCovers);
  const coverRows: Row[] = [];
  const fileRows: Row[] = [];
  const random = makeRandom();
  // Covers are uploaded in any order, not in the order of the games.
  const step = coprimeStep(covers.length);
  covers.forEach(({ game, region, type, status, approvedAt, files }, index) => {
    const id = FIRST_COVER_ID + ((index * step) % covers.length);
    coverRows.push([id, game.id, region, type, status, approvedAt]);
    random.start(id, 0, 0);
    const { shape, slug } = game.platform;
    const firstFile = FIRST_FILE_ID + fileRows.length;
    fileRows.push(
      ...makeFiles(random, files, firstFile, id, type, shape, `${slug}/${game.slug}`).map(
        withOddPath,
      ),
    );
  });
  return {
    platforms: platforms.map(({ id, slug, name }) => [id, slug, name]),
    games: games.map(({ row }) => row),
    covers: coverRows,
    coverFiles: fileRows,
    gameTitles: readTitles(readFileSync(TITLES_FILE, 'utf8'), games),
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

function readGames(text: string): { platforms: Platform[]; games: Game[] } {
  const platforms: Platform[] = [];
  const games: Game[] = [];
  text.split('\n').forEach((line, index) => {
    if (line === '' || line.startsWith('#')) return;
    try {
      if (line.startsWith('= ')) {
        platforms.push(readPlatform(line.slice(2), FIRST_PLATFORM_ID + platforms.length));
      } else {
        const platform = platforms.at(-1);
        if (platform === undefined) throw new Error('there is no platform before it');
        games.push(readGame(line, FIRST_GAME_ID + games.length, platform));
      }
    } catch (cause) {
      throw new Error(`Line ${index + 1} of ${GAMES_FILE} cannot be read: ${line}`, { cause });
    }
  });
  return { platforms, games };
}

function readPlatform(line: string, id: number): Platform {
  const [slug, name, medium, ratio] = fieldsOf(line, 4) as [string, string, string, string];
  const [width, height] = ratio.split(':').map(Number) as [number, number];
  return { id, slug, name, medium, shape: [width, height] };
}

function readGame(line: string, id: number, platform: Platform): Game {
  const [heading, year, ...others] = fieldsOf(line, 6) as [string, string | null];
  const [, title, given] = /^(.+?)(?: \[([a-z0-9-]+)\])?$/.exec(heading) as string[];
  const slug = given ?? slugOf(title as string);
  const [genres, developer, publisher, description] = others as (string | null)[];
  const facts = [description, genres, developer, publisher] as (string | null)[];
  return {
    id,
    platform,
    slug,
    row: [id, platform.id, slug, title as string, year === null ? null : Number(year), ...facts],
  };
}

/** Reads the rows of alternative titles. */
function readTitles(text: string, games: readonly Game[]): Row[] {
  const ids = new Map(games.map(({ id, platform, slug }) => [`${platform.slug}/${slug}`, id]));
  return text.split('\n').flatMap((line, index) => {
    if (line === '' || line.startsWith('#')) return [];
    const [game = '', ...titles] = line.split(' | ');
    const id = ids.get(game);
    if (id === undefined) throw new Error(`Line ${index + 1} of ${TITLES_FILE}: no game ${game}`);
    return titles.map((title): Row => [id, title]);
  });
}

function fieldsOf(line: string, count: number): (string | null)[] {
  const fields = line.split('|').map((field) => field.trim() || null);
  if (fields.length !== count) throw new Error(`it has ${fields.length} fields, not ${count}`);
  return fields;
}

function makeCovers(game: Game): Cover[] {
  const key = `${game.platform.slug}/${game.slug}`;
  if (key === EXAMPLE) return EXAMPLE_COVERS.map((one) => ({ ...one, game }));
  const random = makeRandom(crc32(key));
  if (random.happens(SHARE_WITHOUT_COVERS)) return [];
  // A game with a Japanese title was sold only in Japan.
  const isJapanese = /[\u3040-\u9fff]/.test(String(game.row[3]));
  const regions = ['Japan', 'USA', 'Europe', 'Australia', 'Germany', 'Brazil'].slice(
    0,
    isJapanese ? 1 : 1 + random.below(4) + random.below(3),
  );
  const covers: Cover[] = [];
  for (const region of isJapanese || random.happens(0.7) ? regions : regions.slice(1)) {
    const types: string[] = ['front'];
    if (random.happens(0.35)) types.push('back');
    if (random.happens(0.1)) types.push('spine');
    if (random.happens(0.2)) types.push(game.platform.medium);
    for (const type of types) {
      const fate = random.next();
      const status =
        fate < SHARE_PENDING
          ? 'pending'
          : fate < SHARE_PENDING + SHARE_REJECTED
            ? 'rejected'
            : 'approved';
      const time = FIRST_APPROVAL + random.below(LAST_APPROVAL - FIRST_APPROVAL);
      const before = covers.at(-1)?.approvedAt ?? null;
      const isSame = random.happens(SHARE_SAME_SECOND) && before !== null;
      const hasTime = status === 'approved' && !random.happens(SHARE_WITHOUT_TIME);
      covers.push({
        ...cover(region, type, status, isSame ? before : timeOf(time), 1 + random.below(3)),
        ...(hasTime ? {} : { approvedAt: null }),
        game,
      });
    }
  }
  return covers;
}

function cover(
  region: string | null,
  type: string | null,
  status: string,
  approvedAt: string | null,
  files: number,
): Omit<Cover, 'game'> {
  return { region, type, status, approvedAt, files };
}

// A path may contain characters that must be encoded in a URL, or be a URL of another host.
function withOddPath(row: Row, number: number): Row {
  const file = String(row[7]);
  const kind = Number(row[1]) % 50;
  if (number !== 0 || kind > 4 || kind < 3) return row;
  const isElsewhere = kind === 3;
  const odd = isElsewhere
    ? `https://images.example.org/${file}`
    : file.replace(/\/(\d+)-/, '/scan é ($1) ');
  return [...row.slice(0, 7), odd];
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

function coprimeStep(count: number): number {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  let step = Math.floor(count * 0.618) + 1;
  while (divisor(step, count) !== 1) step++;
  return step;
}
