/**
 * Prepares the content of all servers once, in one folder: a catalogue in MariaDB, the snapshot that
 * the generator makes of it, and the same bodies as files and lists for the alternatives.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { openDatabase } from '../../../database/open.ts';
import { hashKey, makeKey } from '../../../format/api-key.ts';
import { encodeKeys } from '../../../format/keys-file.ts';
import { CURRENT, KEYS_FILE } from '../../../format/layout.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { sharedCatalogue } from '../../catalogue/shared.ts';
import { type MariaDb, startMariaDb } from '../../support/servers/mariadb.ts';

export const ROOT = path.join(import.meta.dirname, '../../..');
export const SITE = 'https://covers.example';
export const FILES = 'https://files.covers.example';
const BASE = '/api/v1';
const DATABASE = 'bench';
const LIMIT = 1_000_000;
const GAME_BYTES = 700;
const DIFFERENT_GAMES = 100_000;
const DIFFERENT_SEARCHES = 10_000;
const PAGE = 50;
const BATCH = 100;
/** Platforms with fewer games are not used as examples. */
const SMALLEST_PLATFORM = 500;
const BUFFER_POOL = 1024 * 1024 * 1024;

export interface Prepared {
  readonly description: string;
  readonly mariaDb: MariaDb;
  readonly databaseUrl: string;
  readonly snapshotsDir: string;
  readonly key: string;
  /** The root of the static files. The name of a file is an address without its query. */
  readonly filesDir: string;
  /** Every address that has a file, one per line. */
  readonly targetsFile: string;
  readonly game: string;
  /** 50 games of about average length, and 50 long ones. */
  readonly page: string;
  readonly longPage: string;
  /** 50 games with their covers. */
  readonly coverPage: string;
  /** Different pages of 50 games with their covers, and batches of 100 games. */
  readonly coverPages: AddressList;
  readonly batches: AddressList;
  readonly recent: string;
  readonly search: string;
  readonly games: AddressList;
  readonly searches: AddressList;
}

/** Different addresses in random order, one per line of a file. */
export interface AddressList {
  readonly file: string;
  readonly length: number;
  readonly first: string;
}

export async function prepare(folder: string, report: (text: string) => void): Promise<Prepared> {
  const shared = sharedCatalogue();
  const catalogue = shared ?? seededCatalogue({ games: 150_000, seed: 1 });
  report('loading a catalogue into MariaDB');
  // Everything is in this folder, so only the folder must be removed, however the benchmark ends.
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  const mariaDb = await startMariaDb();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  try {
    const databaseUrl = await mariaDb.createDatabase(DATABASE);
    const database = await openDatabase(databaseUrl, { stallSeconds: 600 });
    await loadCatalogue(database, catalogue);
    // Indexes that a live API would need. The generator does not use them.
    await database.run('ALTER TABLE games ADD INDEX (platform_id, title), ADD FULLTEXT (title)');
    await database.run('ANALYZE TABLE platforms, games, covers, cover_files');
    await database.run(`SET GLOBAL innodb_buffer_pool_size = ${BUFFER_POOL}`);
    await database.close();

    report('generating');
    const snapshotsDir = path.join(folder, 'snapshots');
    await promisify(execFile)(process.execPath, [path.join(ROOT, 'generator/cli/main.ts')], {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? '',
        DATABASE_URL: databaseUrl,
        SNAPSHOTS_DIR: snapshotsDir,
        SITE_URL: SITE,
        FILES_URL: FILES,
      },
    });
    const key = makeKey();
    const keys = encodeKeys([{ id: 1, hash: hashKey(key), state: 'approved', limit: LIMIT }]);
    writeFileSync(path.join(snapshotsDir, KEYS_FILE), keys, { mode: 0o600 });
    report('writing one file per response');
    const listed = listGames(realpathSync(path.join(snapshotsDir, CURRENT)));
    return {
      description: `${shared === undefined ? 'a seeded' : 'a real'} catalogue of ${listed.total} games`,
      ...{ mariaDb, databaseUrl, snapshotsDir, key },
      ...writeGames(folder, listed.games),
      page: pageOf(listed.middling),
      longPage: pageOf(listed.longest),
      coverPage: `${pageOf(listed.next)}&include=covers`,
      coverPages: writeList(path.join(folder, 'cover-pages.txt'), listed.coverPages),
      batches: writeList(path.join(folder, 'batches.txt'), batchesOf(listed.games)),
      recent: `${BASE}/covers/recent`,
      ...writeSearches(folder, listed.games),
    };
  } catch (error) {
    await mariaDb.stop();
    throw error;
  }
}

interface Game {
  readonly id: number;
  readonly target: string;
  readonly title: string;
  readonly body: string;
}

/** The games in random order, their number, and platforms with a first page of average and of great length. */
function listGames(generation: string) {
  const packs = path.join(generation, 'games');
  const games: Game[] = [];
  const coverPages: string[] = [];
  const pages: { slug: string; length: number }[] = [];
  let length = 0;
  for (const name of readdirSync(packs)) {
    const slug = path.basename(name, '.json');
    const before = games.length;
    // Each line is a record.
    for (const line of readFileSync(path.join(packs, name), 'utf8').split('\n')) {
      if (!line.startsWith('{')) continue;
      const body = line.endsWith(',') ? line.slice(0, -1) : line;
      const game = JSON.parse(body);
      games.push({
        id: game.id,
        target: `${BASE}/games/${slug}/${game.slug}`,
        title: game.title,
        body,
      });
      length += body.length;
    }
    for (let page = 1; page * PAGE <= games.length - before; page++) {
      coverPages.push(`${BASE}/platforms/${slug}/games?page=${page}&include=covers`);
    }
    if (games.length - before < SMALLEST_PLATFORM) continue;
    const first = games.slice(before, before + PAGE);
    pages.push({ slug, length: first.reduce((sum, { body }) => sum + body.length, 0) });
  }
  const average = (length / games.length) * PAGE;
  const distance = ({ length }: { length: number }) => Math.abs(length - average);
  // Their static files must not have the same path.
  const [middling, next] = pages.toSorted((a, b) => distance(a) - distance(b));
  const longest = pages.reduce((best, next) => (next.length > best.length ? next : best));
  shuffle(games);
  shuffle(coverPages);
  const slugs = { middling: middling.slug, next: next.slug, longest: longest.slug };
  return { games, coverPages, total: games.length, ...slugs };
}

function pageOf(platform: string): string {
  return `${BASE}/platforms/${platform}/games?page=1&per_page=${PAGE}`;
}

function batchesOf(games: readonly Game[]): string[] {
  const batches: string[] = [];
  for (let from = 0; from + BATCH <= games.length; from += BATCH) {
    const ids = games.slice(from, from + BATCH).map(({ id }) => id);
    batches.push(`${BASE}/games?ids=${ids.join()}`);
  }
  return batches;
}

function shuffle(list: unknown[]): void {
  const random = makeRandom();
  random.start(1, 1, 1);
  for (let i = list.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [list[i], list[j]] = [list[j], list[i]];
  }
}

function writeGames(folder: string, all: readonly Game[]) {
  const games = all.slice(0, DIFFERENT_GAMES);
  const filesDir = path.join(folder, 'files');
  const made = new Set<string>();
  const write = ({ target, body }: { target: string; body: string }) => {
    const file = filesDir + target;
    const directory = path.dirname(file);
    if (!made.has(directory)) mkdirSync(directory, { recursive: true });
    made.add(directory);
    writeFileSync(file, body);
  };
  games.forEach(write);
  const distance = ({ body }: Game) => Math.abs(Buffer.byteLength(body) - GAME_BYTES);
  const game = games.reduce((best, next) => (distance(next) < distance(best) ? next : best));
  const targets = games.map(({ target }) => target);
  return {
    game: game.target,
    games: writeList(path.join(folder, 'games.txt'), targets),
    filesDir,
    targetsFile: path.join(folder, 'targets.txt'),
  };
}

/** Searches for a word of a title, or for a word and the beginning of the next one. */
function writeSearches(folder: string, games: readonly Game[]) {
  const searches = new Set<string>();
  for (const { title } of games) {
    const [first, second] = title.toLowerCase().match(/\b[a-z]{4,12}\b/g) ?? [];
    if (first === undefined) continue;
    const isPair = second !== undefined && searches.size % 2 === 0;
    searches.add(`${BASE}/search?q=${first}${isPair ? `+${second.slice(0, 3)}` : ''}`);
    if (searches.size === DIFFERENT_SEARCHES) break;
  }
  const list = writeList(path.join(folder, 'searches.txt'), [...searches]);
  return { search: `${BASE}/search?q=super`, searches: list };
}

function writeList(file: string, list: readonly string[]): AddressList {
  writeFileSync(file, `${list.join('\n')}\n`);
  return { file, length: list.length, first: list[0] };
}

/** Writes the pages and lists, plain and compressed, as the product sends them. */
export async function copyBodies(
  { filesDir, targetsFile, games, page, longPage, coverPage, recent }: Prepared,
  fetchBody: (target: string, coding: 'identity' | 'gzip') => Promise<Buffer>,
): Promise<void> {
  const larger = [page, longPage, coverPage, recent];
  for (const target of larger) {
    const file = filesDir + target.split('?', 1)[0];
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, await fetchBody(target, 'identity'));
    writeFileSync(`${file}.gz`, await fetchBody(target, 'gzip'));
  }
  writeFileSync(targetsFile, `${readFileSync(games.file, 'utf8')}${larger.join('\n')}\n`);
}
