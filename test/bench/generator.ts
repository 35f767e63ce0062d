/**
 * Compares the generator with `mariadb-dump` of the same database, for a whole generation, one
 * changed game and no change; and with writing one file per response. Both connect over TCP and write
 * to the same disk.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../database/open.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { loadCatalogue } from '../catalogue/load.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { sharedCatalogue } from '../catalogue/shared.ts';
import { timeOf } from '../support/processes.ts';
import { type MariaDb, startMariaDb } from '../support/servers/mariadb.ts';
import { inNewFolder, median, type PartOptions, table } from './part.ts';
import { runGenerator } from './run-generator.ts';

const READ_ALONE = path.join(import.meta.dirname, 'read-alone.ts');
const SEEDED_SIZES = [100_000, 300_000, 1_000_000];

interface Run {
  readonly seconds: number;
  readonly memory: number;
}

interface Size {
  readonly name: string;
  readonly counts: {
    readonly games: number;
    readonly covers: number;
    readonly cover_files: number;
  };
  readonly dump: number[];
  readonly reading: number[];
  readonly full: Run[];
  readonly changed: Run[];
  readonly unchanged: Run[];
  /** Measured once; undefined if it would take too long. */
  readonly filePerResponse: number | undefined;
}

export async function run({ rounds, report }: PartOptions): Promise<string> {
  return inNewFolder(async (folder, atEnd) => {
    const server = await startMariaDb();
    atEnd(server.stop);
    const sizes: Size[] = [];
    const real = sharedCatalogue();
    if (real !== undefined) sizes.push(await measure(server, folder, 'real', real, rounds, report));
    for (const games of SEEDED_SIZES) {
      const catalogue = seededCatalogue({ games, seed: 5 });
      sizes.push(await measure(server, folder, `seeded_${games}`, catalogue, rounds, report));
    }
    return describe(sizes, rounds);
  });
}

async function measure(
  server: MariaDb,
  folder: string,
  name: string,
  catalogue: Catalogue,
  rounds: number,
  report: (text: string) => void,
): Promise<Size> {
  report(`  ${name}: loading`);
  const url = await server.createDatabase(name);
  const database = await openDatabase(url);
  await loadCatalogue(database, catalogue);
  const times = {
    dump: [] as number[],
    reading: [] as number[],
    full: [] as Run[],
    changed: [] as Run[],
    unchanged: [] as Run[],
  };
  let counts: Size['counts'] | undefined;
  for (let round = 1; round <= rounds; round++) {
    report(`  ${name}: round ${round}`);
    const dumpFile = path.join(folder, 'dump.sql');
    rmSync(dumpFile, { force: true });
    const [command, args] = server.dumpCommand(name);
    times.dump.push(await timeOf(command, [...args, `--result-file=${dumpFile}`]));
    times.reading.push(await timeOf('env', [`DATABASE_URL=${url}`, process.execPath, READ_ALONE]));
    const snapshots = path.join(folder, 'snapshots');
    rmSync(snapshots, { recursive: true, force: true });
    const full = await generate(url, snapshots);
    counts = full.counts;
    times.full.push(full);
    times.unchanged.push(await generate(url, snapshots));
    await database.run(`UPDATE games SET title = 'Changed ${round}' ORDER BY id LIMIT 1`);
    times.changed.push(await generate(url, snapshots));
  }
  await database.run(`DROP DATABASE "${name}"`);
  await database.close();
  if (counts === undefined) throw new Error('There was no round.');
  const filePerResponse =
    counts.games > 400_000 ? undefined : writeFilePerResponse(path.join(folder, 'snapshots'));
  return { name, counts, ...times, filePerResponse };
}

async function generate(url: string, snapshotsDir: string): Promise<Run & Pick<Size, 'counts'>> {
  const started = performance.now();
  const { peak_memory_mb: memory, counts } = await runGenerator(url, snapshotsDir);
  return { seconds: (performance.now() - started) / 1000, memory, counts };
}

/** Measures writing one file for each game and each cover, synced like a generation. */
function writeFilePerResponse(snapshotsDir: string): number {
  const current = path.join(snapshotsDir, 'current');
  const target = path.join(snapshotsDir, 'files');
  const platforms = JSON.parse(readFileSync(path.join(current, 'index/platforms.json'), 'utf8'));
  const started = performance.now();
  for (const { slug } of platforms) {
    for (const kind of ['games', 'covers']) {
      const folder = path.join(target, kind, slug);
      mkdirSync(folder, { recursive: true });
      const records = readFileSync(path.join(current, kind, `${slug}.json`), 'utf8').split(',\n');
      for (const [index, record] of records.entries()) {
        writeFileSync(path.join(folder, `${index}.json`), record);
      }
    }
  }
  execFileSync('sync', ['--file-system', target]);
  const seconds = (performance.now() - started) / 1000;
  rmSync(target, { recursive: true, force: true });
  return seconds;
}

const secondsOf = (runs: readonly Run[]) => median(runs.map(({ seconds }) => seconds));
const memoryOf = (runs: readonly Run[]) => Math.max(...runs.map(({ memory }) => memory));

function describe(sizes: readonly Size[], rounds: number): string {
  const ratio = (value: number) => value.toFixed(2);
  const seconds = (value: number) => value.toFixed(1);
  return [
    `${rounds} rounds in turn; times are medians, memory is the highest of all rounds. "Reading alone" is a program that reads all rows in one consistent read, like the generator, and discards them.`,
    '### Ratios',
    table(
      [
        '',
        'full ÷ `mariadb-dump`',
        'reading alone ÷ `mariadb-dump`',
        'one game changed ÷ full',
        'nothing changed ÷ full',
        'one file per response ÷ full',
      ],
      sizes.map(({ name, dump, reading, full, changed, unchanged, filePerResponse }) => [
        name,
        ratio(secondsOf(full) / median(dump)),
        ratio(median(reading) / median(dump)),
        ratio(secondsOf(changed) / secondsOf(full)),
        ratio(secondsOf(unchanged) / secondsOf(full)),
        filePerResponse === undefined ? '' : ratio(filePerResponse / secondsOf(full)),
      ]),
    ),
    '### Figures',
    table(
      [
        '',
        'games',
        'covers',
        'files',
        '`mariadb-dump` s',
        'reading alone s',
        'full s',
        'one changed s',
        'nothing changed s',
        'one file per response, writing alone s',
        'peak MB',
        'µs per game, full',
      ],
      sizes.map(({ name, counts, dump, reading, full, changed, unchanged, filePerResponse }) => [
        name,
        String(counts.games),
        String(counts.covers),
        String(counts.cover_files),
        seconds(median(dump)),
        seconds(median(reading)),
        seconds(secondsOf(full)),
        seconds(secondsOf(changed)),
        seconds(secondsOf(unchanged)),
        filePerResponse === undefined ? '' : seconds(filePerResponse),
        String(memoryOf(full)),
        ((secondsOf(full) * 1e6) / counts.games).toFixed(1),
      ]),
    ),
  ].join('\n\n');
}
