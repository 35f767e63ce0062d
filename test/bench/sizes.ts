/**
 * Cost against size: seeded catalogues in SQLite, of up to ten million games. For each, a full run, a run after a
 * rejected cover, and what the proxy needs. Makes a table, and the chart `sizes.svg`.
 */
import { closeSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { fillDatabase } from '../../demo/catalogue/load.ts';
import { currentId, generationDir } from '../../lib/generations/generations.ts';
import { pagingOf, readParameters, searchOf } from '../../proxy/api/parameters.ts';
import { SEARCH_PARAMETERS } from '../../proxy/api/routes/search.ts';
import { makeGeneration } from '../../proxy/snapshot/generation.ts';
import { openFiles } from '../../proxy/snapshot/open-files.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { drawChart } from './chart.ts';
import * as figures from './figures.ts';
import { measureRun } from './generator.ts';
import { listGames, ROOT } from './prepare.ts';
import { makeSample, QUERY_SETS } from './queries.ts';
import { percentiles, targetsOf } from './search.ts';
import { productStarts } from './servers.ts';

const SEED = 5;
/** Queries are made of the titles of a catalogue of this size, all of which the larger ones have as well. */
const GAMES_OF_QUERIES = 20_000;
const CHART = path.join(import.meta.dirname, 'sizes.svg');

const [FULL, COVER, REST, OPENING] = ['full run', 'one cover rejected', 'proxy at rest', 'opening'];
const [CPU, MEMORY, SEARCH, TIME] = ['CPU, s', 'memory, MB', 'search, ms', 'time, s'];
const ROWS = [
  [CPU, FULL, 'cpu'],
  [CPU, COVER, 'cpu'],
  [CPU, OPENING, 'cpu'],
  [MEMORY, FULL, 'memory'],
  [MEMORY, COVER, 'memory'],
  [MEMORY, REST, 'loaded'],
  [SEARCH, OPENING, 'p99', 'p99'],
  [SEARCH, OPENING, 'p50', 'p50'],
  [TIME, FULL, 'seconds'],
  [TIME, COVER, 'seconds'],
  [TIME, OPENING, 'seconds'],
];

/** @param sizes how many games each catalogue has, ascending */
export async function measureSizes(
  folder: string,
  sizes: readonly number[],
  { report }: figures.Options,
): Promise<string> {
  const candidates = sizes.flatMap((games) => candidatesOf(path.join(folder, `${games}`), games));
  const once = { rounds: 1, report };
  const findings = await figures.measureInTurn(candidates, once, { isWarmedUp: false });
  const rows = ROWS.map(([unit, work, figure, name = work]) => ({
    ...{ unit, name },
    values: sizes.map((games) => figures.medianOf(findings, `${games}: ${work}`, figure)),
  }));
  const panels = [CPU, MEMORY, SEARCH].map((title) => {
    return { title, lines: rows.filter(({ unit }) => unit === title) };
  });
  writeFileSync(CHART, drawChart('games', sizes, panels));
  return [
    'Seeded catalogues in SQLite, one run each. CPU is processor time; that of runs includes SQLite. Searches without HTTP: of each, the shortest of three.',
    figures.table(
      ['games', ...sizes.map((games) => games.toLocaleString('en'))],
      rows.map(({ unit, name, values }) => [`${unit}: ${name}`, ...values.map(figures.cell)]),
    ),
    figures.failureList(findings),
  ].join('\n\n');
}

function candidatesOf(folder: string, games: number): figures.Candidate[] {
  const file = path.join(folder, 'catalogue.db');
  const snapshotsDir = path.join(folder, 'snapshots');
  const run = (isFull: boolean) => measureRun(ROOT, `sqlite:${file}`, snapshotsDir, isFull);
  const works: Record<string, () => Promise<figures.Figures>> = {
    [FULL]: () => load(file, games).then(() => run(true)),
    async [COVER]() {
      const database = new DatabaseSync(file);
      database.exec(`UPDATE covers SET status = 'rejected', updated_at = datetime('now', '-1 hour')
        WHERE id = (SELECT MIN(id) FROM covers WHERE status = 'approved')`);
      database.close();
      return run(false);
    },
    [REST]: () => measureProxy(folder, snapshotsDir),
    [OPENING]: async () => measureOpening(snapshotsDir),
  };
  return Object.entries(works).map(([work, measure]) => ({
    ...{ name: `${games}: ${work}` },
    measure: () => measure().finally(() => work === OPENING && rmSync(folder, { recursive: true })),
  }));
}

/** Inserts the rows in the order of their ids, which is twice as fast as `fillDatabase`, and needs less memory. */
async function load(file: string, count: number): Promise<void> {
  const { games, covers, coverFiles, ...others } = seededCatalogue({ games: count, seed: SEED });
  await fillDatabase(`sqlite:${file}`, { ...others, games: [], covers: [], coverFiles: [] });
  const database = new DatabaseSync(file);
  database.exec(
    'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000',
  );
  for (const [name, rows] of Object.entries({ games, covers, cover_files: coverFiles })) {
    database.exec(`BEGIN; CREATE TEMP TABLE unsorted AS SELECT * FROM ${name}`);
    const columns = database.prepare('SELECT * FROM unsorted').columns();
    const insert = database.prepare(`INSERT INTO unsorted VALUES (${columns.map(() => '?')})`);
    for (const row of rows) insert.run(...(row as SQLInputValue[]));
    database.exec(`INSERT INTO ${name} SELECT * FROM unsorted ORDER BY id; DROP TABLE unsorted;
      ALTER TABLE ${name} ADD COLUMN updated_at TEXT DEFAULT '2026-01-01 00:00:00'; COMMIT`);
  }
  database.close();
}

async function measureProxy(folder: string, snapshotsDir: string): Promise<figures.Figures> {
  const ends: (() => unknown)[] = [];
  const product = { name: figures.PRODUCT, root: ROOT, snapshots: async () => snapshotsDir };
  const place = { folder, atEnd: (end: () => unknown) => ends.push(end), products: [product] };
  const { loading } = await productStarts(place)[product.name]();
  for (const end of ends) await end();
  return { ...loading };
}

/** Opens the current generation in this process, and searches it. */
function measureOpening(snapshotsDir: string): figures.Figures {
  const id = currentId(snapshotsDir) ?? '';
  const [began, started] = [process.cpuUsage(), performance.now()];
  const files = openFiles({ dir: generationDir(snapshotsDir, id), id });
  makeGeneration(files);
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(began);
  const sample = makeSample(listGames(seededCatalogue({ games: GAMES_OF_QUERIES, seed: SEED })));
  const queries = QUERY_SETS.flatMap((set, number) => targetsOf(set, sample, number, 0)).map(
    (target) => readParameters(target.split('?')[1], SEARCH_PARAMETERS),
  );
  const rounds = [1, 2, 3].map(() => {
    // Has no cache of the round before.
    const { search } = makeGeneration(files);
    return queries.map((parameters) => {
      const [query, { page, perPage }] = [searchOf(parameters), pagingOf(parameters)];
      const before = performance.now();
      search.find(query, (page - 1) * perPage, perPage);
      return performance.now() - before;
    });
  });
  // Other programs only lengthen a search, so the shortest time counts.
  const times = queries.map((_, at) => Math.min(...rounds.map((round) => round[at])));
  files.descriptors.forEach(closeSync);
  return { cpu: (user + system) / 1e6, seconds, ...percentiles(times) };
}
