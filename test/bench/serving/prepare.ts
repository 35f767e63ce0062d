/**
 * Prepares the data of the serving part: generations of one seeded catalogue in one snapshots folder,
 * made by the real generator from SQLite; keys; and lists of addresses that exist in all generations.
 * One game in a hundred differs between generations, so that hardly any file is the same.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { hashKey, makeKey } from '../../../format/api-key.ts';
import { openRecordIndex, platformOf } from '../../../format/index/record-index.ts';
import { encodeKeys } from '../../../format/keys-file.ts';
import { gamesPack, KEYS_FILE } from '../../../format/layout.ts';
import type { Counts } from '../../../format/manifest.ts';
import { generationDir, idsOnDisk } from '../../../store/generations/generations.ts';
import { readManifest } from '../../../store/generations/manifest-file.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { runGenerator } from '../run-generator.ts';

export interface Prepared {
  readonly snapshotsDir: string;
  /** The ids of all generations, the oldest first. */
  readonly ids: readonly string[];
  /** The first two of them, and the bytes of all files of each. */
  readonly older: string;
  readonly newer: string;
  readonly bytes: number;
  readonly counts: Counts;
  /** Enough keys that none reaches its limit. */
  readonly keys: readonly string[];
  /** One address that is requested repeatedly, and files of different ones, one per line. */
  readonly game: string;
  readonly games: string;
  readonly searches: string;
  /** Addresses of all kinds in turn: the repeated game, a game, a page, a game, a search. */
  readonly mixed: string;
}

const SEED = 7;
const BASE = '/api/v1';
const LIMIT = 1_000_000;
const KEYS = 4;
const DIFFERENT_GAMES = 100_000;
const PAGE = 50;

/**
 * @param folder may already contain the generations, from a run with the same number of games
 * @param generations how many to make, from two to the number that the generator keeps
 */
export async function prepare(
  folder: string,
  games: number,
  report: (text: string) => void,
  generations = 2,
): Promise<Prepared> {
  mkdirSync(folder, { recursive: true });
  const snapshotsDir = path.join(folder, 'snapshots');
  if (idsOnDisk(snapshotsDir).length < generations) {
    await generateAll(folder, snapshotsDir, games, generations, report);
  }
  const ids = idsOnDisk(snapshotsDir);
  const [older, newer] = ids as [string, string];
  const keys = Array.from({ length: KEYS }, makeKey);
  const encoded = encodeKeys(
    keys.map((key, i) => ({ id: i + 1, hash: hashKey(key), state: 'approved', limit: LIMIT })),
  );
  writeFileSync(path.join(snapshotsDir, KEYS_FILE), encoded, { mode: 0o600 });
  const { files, counts } = readManifest(generationDir(snapshotsDir, newer));
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const lists = writeLists(folder, generationDir(snapshotsDir, older));
  return { snapshotsDir, ids, older, newer, bytes, counts, keys, ...lists };
}

async function generateAll(
  folder: string,
  snapshotsDir: string,
  games: number,
  generations: number,
  report: (text: string) => void,
): Promise<void> {
  const file = path.join(folder, 'catalogue.db');
  // The remains of an interrupted run.
  for (const rest of [file, `${file}-journal`, snapshotsDir]) {
    rmSync(rest, { recursive: true, force: true });
  }
  const url = `sqlite:${file}`;
  const withDatabase = async (use: (database: Database) => Promise<unknown>) => {
    const database = await openDatabase(url, { create: true });
    try {
      await use(database);
    } finally {
      await database.close();
    }
  };
  report(`loading ${games} games into SQLite`);
  await withDatabase((database) => loadCatalogue(database, seededCatalogue({ games, seed: SEED })));
  report('generating');
  await runGenerator(url, snapshotsDir);
  for (let number = 2; number <= generations; number++) {
    await withDatabase((database) =>
      database.run(
        "UPDATE games SET title = 'New ' || title, description = 'Changed.' WHERE id % 100 = ?",
        [number - 2],
      ),
    );
    report('generating again');
    await runGenerator(url, snapshotsDir);
  }
  rmSync(file);
}

/** Writes lists of games in random order, of searches for words of their titles, and of all kinds. */
function writeLists(folder: string, generation: string) {
  const sample = sampleGames(generation);
  const targets = sample.map(({ target }) => target);
  const searches = [...new Set(sample.flatMap(({ title }, i) => searchFor(title, i % 2 === 0)))];
  const at = (list: readonly string[], i: number) => list[i % list.length];
  const game = at(targets, 0);
  const half = Math.ceil(sample.length / 2);
  const mixed = sample
    .slice(0, half)
    .flatMap(({ page }, i) => [game, at(targets, i), page, at(targets, half + i), at(searches, i)]);
  const write = (name: string, lines: readonly string[]) => {
    const file = path.join(folder, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  };
  return {
    game,
    games: write('games.txt', targets),
    searches: write('searches.txt', searches),
    mixed: write('mixed.txt', mixed),
  };
}

interface SampledGame {
  readonly target: string;
  readonly title: string;
  /** The page that contains the game. */
  readonly page: string;
}

function sampleGames(generation: string): SampledGame[] {
  const content = (name: string) => readFileSync(path.join(generation, name));
  const { platforms, games } = openRecordIndex(content);
  const packs = platforms.map(({ slug }) => openSync(path.join(generation, gamesPack(slug)), 'r'));
  const random = makeRandom();
  random.start(SEED, 1, 1);
  const total = games.byteLength.length;
  const sample = Array.from({ length: Math.min(total, DIFFERENT_GAMES) }, () => {
    const number = random.below(total);
    const index = platformOf(platforms, 'first_game', number);
    const { slug, first_game } = platforms[index];
    const bytes = Buffer.allocUnsafe(games.byteLength[number]);
    readSync(packs[index], bytes, 0, bytes.length, games.byteOffset[number]);
    const game = JSON.parse(bytes.toString());
    const page = 1 + Math.floor((number - first_game) / PAGE);
    return {
      target: `${BASE}/games/${slug}/${game.slug}`,
      title: game.title as string,
      page: `${BASE}/platforms/${slug}/games?page=${page}&per_page=${PAGE}`,
    };
  });
  packs.forEach(closeSync);
  return sample;
}

/** A search for a word of a title, or for a word and the beginning of the next one. */
function searchFor(title: string, isPair: boolean): string[] {
  const [first, second] = title.toLowerCase().match(/\b[a-z]{4,12}\b/g) ?? [];
  if (first === undefined) return [];
  const more = isPair && second !== undefined ? `+${second.slice(0, 3)}` : '';
  return [`${BASE}/search?q=${first}${more}`];
}
