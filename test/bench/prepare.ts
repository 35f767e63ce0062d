/**
 * What all parts of the benchmark use: a catalogue in a database (see `startDatabaseServer`), its titles as
 * lines, keys, and for each checkout of the product a generation that it has made.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Catalogue, loadCatalogue } from '../../demo/catalogue/load.ts';
import { makeRandom } from '../../demo/catalogue/random.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { TIMED_TABLES } from '../../lib/database/schema.ts';
import { hashKey, makeKey } from '../../lib/format/api-key.ts';
import { encodeKeys } from '../../lib/format/keys-file.ts';
import { KEYS_FILE } from '../../lib/format/layout.ts';
import { SITE } from '../catalogue/make-sample.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { sharedCatalogue } from '../catalogue/shared.ts';
import { type DatabaseServer, startDatabaseServer } from '../support/servers/database-server.ts';
import { lazily, PRODUCT } from './figures.ts';

/** A checkout of the product: this one, or an earlier one to compare it with. */
export interface Product {
  readonly name: string;
  readonly root: string;
  /** The snapshots folder, with a generation that this checkout has made. */
  readonly snapshots: () => Promise<string>;
}

export interface Game {
  readonly platform: string;
  readonly slug: string;
  readonly title: string;
  readonly year: number | null;
}

/** Where a benchmark has its files, and how it ends. */
export interface Place {
  readonly folder: string;
  /** Calls this at the end of the benchmark. */
  readonly atEnd: (end: () => unknown) => void;
}

export interface Prepared extends Place {
  /** This checkout first. */
  readonly products: readonly Product[];
  readonly description: string;
  readonly databaseServer: DatabaseServer;
  /** Of the catalogue. */
  readonly databaseUrl: string;
  /** In random order. */
  readonly games: readonly Game[];
  /** The same games as lines of JSON, in the order of their titles. */
  readonly gamesFile: string;
  /** Approved. With one for each measurement, none reaches its limit. */
  readonly keys: readonly string[];
}

export const DATABASE = 'bench';
export const BASELINE = 'baseline';
export const ROOT = path.join(import.meta.dirname, '../..');
const REQUESTS_PER_MINUTE = 1_000_000;
const KEYS = 50;

/**
 * Loads the catalogue, which takes a minute for 150,000 games.
 * @param games how many games it has; by default a real catalogue, if this machine has it
 */
export async function prepare(
  { folder, atEnd }: Place,
  games: number | undefined,
  report: (text: string) => void,
): Promise<Prepared> {
  const real = games === undefined ? sharedCatalogue() : undefined;
  const catalogue = real ?? seededCatalogue({ games: games ?? 150_000, seed: 5 });
  report('loading a catalogue into the database');
  const databaseServer = await startDatabaseServer();
  atEnd(databaseServer.stop);
  const databaseUrl = await databaseServer.createDatabase(DATABASE);
  const database = await openDatabase(databaseUrl, { stallSeconds: 600 });
  await database.run('SET GLOBAL innodb_buffer_pool_size = 1073741824');
  await loadCatalogue(database, catalogue);
  // With an index, as operations/database.md recommends it.
  for (const name of TIMED_TABLES) {
    await database.run(
      `ALTER TABLE ${name} ADD COLUMN updated_at DATETIME NULL, ADD KEY (updated_at)`,
    );
    await database.run(
      `UPDATE ${name} SET updated_at = '2026-01-01 00:00:00' + INTERVAL (id % 20000000) SECOND`,
    );
  }
  // Indexes that a live API needs. The generator does not use them.
  await database.run('ALTER TABLE games ADD KEY (platform_id, title), ADD FULLTEXT (title)');
  await database.run('ANALYZE TABLE platforms, games, covers, cover_files');
  await database.close();

  const listed = listGames(catalogue);
  const gamesFile = path.join(folder, 'games.jsonl');
  listed.sort((a, b) => (a.title < b.title ? -1 : 1));
  writeFileSync(gamesFile, listed.map((game) => `${JSON.stringify(game)}\n`).join(''));
  const random = makeRandom(1);
  const shuffled = listed.map((game) => ({ game, at: random.next() })).sort((a, b) => a.at - b.at);

  const keys = Array.from({ length: KEYS }, makeKey);
  const product = (name: string, root: string): Product => {
    const make = async () => {
      report(`generating, ${name}`);
      const snapshotsDir = path.join(folder, name, 'snapshots');
      await generate(root, databaseUrl, snapshotsDir);
      writeKeys(snapshotsDir, keys);
      return snapshotsDir;
    };
    return { name, root, snapshots: lazily(make) };
  };
  const products = [product(PRODUCT, ROOT)];
  const earlier = process.env.BENCH_BASELINE;
  if (earlier) products.push(product(BASELINE, path.resolve(earlier)));
  const kind = real === undefined ? 'A seeded' : 'A real';
  return {
    ...{ folder, atEnd, products, databaseServer, databaseUrl, keys, gamesFile },
    games: shuffled.map(({ game }) => game),
    description: `${kind} catalogue of ${listed.length} games`,
  };
}

/** The games of a catalogue, in the order of its rows. */
export function listGames(catalogue: Catalogue): Game[] {
  const slugs = new Map([...catalogue.platforms].map(([id, slug]) => [id, String(slug)]));
  return Array.from(catalogue.games, ([, platform, slug, title, year]) => ({
    ...{ platform: slugs.get(platform) ?? '', slug: String(slug), title: String(title) },
    year: year === null ? null : Number(year),
  }));
}

/**
 * Runs `cover-catalogue generate` of a checkout.
 * @returns its own figures
 * @throws Error with its stderr if it fails
 */
export async function generate(
  root: string,
  databaseUrl: string,
  snapshotsDir: string,
): Promise<{ readonly peak_memory_mb: number; readonly read_all_because: string | null }> {
  mkdirSync(snapshotsDir, { recursive: true });
  const command = path.join(root, 'bin/cover-catalogue');
  const { PATH } = process.env;
  const { stdout } = await promisify(execFile)(command, ['generate', '--json'], {
    // Not the checkout, where a developer's .env would be read.
    cwd: snapshotsDir,
    env: { ...SITE, PATH, DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: snapshotsDir },
  });
  return JSON.parse(stdout);
}

export function writeKeys(snapshotsDir: string, keys: readonly string[]): void {
  const entries = keys.map((key, index) => ({
    ...{ id: index + 1, hash: hashKey(key), limit: REQUESTS_PER_MINUTE },
    state: 'approved' as const,
  }));
  writeFileSync(path.join(snapshotsDir, KEYS_FILE), encodeKeys(entries), { mode: 0o600 });
}
