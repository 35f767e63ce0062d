/**
 * Compares a full run with what it cannot do without: reading the rows, hashing the bytes of the generation,
 * and writing them. Besides the time, it measures the processor time of the program and that of the
 * database server: with two cores, no program can take less than half their sum.
 */
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../database/open.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { COMPILE_CACHE, timeOf } from '../support/processes.ts';
import { type MariaDbAddress, startMariaDb } from '../support/servers/mariadb.ts';
import { QUERIES } from './bounds/queries.ts';
import { cpuSeconds, endedCpuSeconds } from './http/process.ts';
import { inNewFolder, median, type PartOptions, table } from './part.ts';
import { runGenerator } from './run-generator.ts';
import { loadTimedCatalogue } from './timed-catalogue.ts';

const GAMES = 300_000;
const READ_ROWS = path.join(import.meta.dirname, 'bounds/read-rows.ts');
const PASS_BYTES = path.join(import.meta.dirname, 'bounds/pass-bytes.ts');
const DUMP = '`mariadb-dump`';
const DRIVER = 'mysql2, the queries of a run';
const HASHED = 'the bytes of the generation, hashed once';
const WRITTEN = 'the bytes of the generation, written and synced';
const DATABASE = 'seeded';

/** In seconds. */
interface Cost {
  readonly wall: number;
  readonly program: number;
  readonly server: number;
}

export async function run({ rounds, games = GAMES, report }: PartOptions): Promise<string> {
  return inNewFolder(async (folder, atEnd) => {
    const server = await startMariaDb();
    atEnd(server.stop);
    report(`  ${games} games: loading`);
    const database = await openDatabase(await server.createDatabase(DATABASE));
    await loadTimedCatalogue(database, seededCatalogue({ games, seed: 5 }));
    await database.close();
    const { candidates, stages } = makeCandidates(server, folder);
    const costs = new Map<string, Cost[]>(candidates.map(([name]) => [name, []]));
    for (let round = 1; round <= rounds; round++) {
      report(`  round ${round}`);
      for (const [name, work] of candidates) costs.get(name)?.push(await costOf(work, server.pid));
    }
    return describe(games, rounds, costs, stages);
  });
}

/** @returns what is measured, in turn; and the seconds of each stage of the full runs so far */
function makeCandidates(server: MariaDbAddress, folder: string) {
  const url = server.url(DATABASE);
  const snapshots = path.join(folder, 'snapshots');
  const stages = new Map<string, number[]>();
  const [dump, dumpArguments] = server.dumpCommand(DATABASE);
  const login = dumpArguments.filter((argument) => argument !== '--single-transaction');
  const selects = QUERIES.map(
    ({ table: name, columns }) => `SELECT ${columns.join(', ')} FROM ${name} ORDER BY id`,
  );
  const readWithClient = [
    ...login,
    '--quick',
    "--init-command=SET sql_mode = 'PIPES_AS_CONCAT'",
    `--execute=${selects.join('; ')}`,
  ];
  const readWithDriver = (form: string) =>
    timeOf('env', [`DATABASE_URL=${url}`, process.execPath, READ_ROWS, form]);
  async function generate(): Promise<void> {
    rmSync(snapshots, { recursive: true, force: true });
    const result = await runGenerator(url, snapshots, COMPILE_CACHE);
    for (const [stage, seconds] of Object.entries(result.stages)) {
      stages.set(stage, [...(stages.get(stage) ?? []), seconds]);
    }
  }
  function passBytes(task: 'hash' | 'write') {
    const target = path.join(folder, 'copy');
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target);
    const generation = realpathSync(path.join(snapshots, 'current'));
    return timeOf(process.execPath, [PASS_BYTES, task, generation, target]);
  }
  const candidates: [name: string, work: () => Promise<unknown>][] = [
    [DUMP, () => timeOf(dump, [...dumpArguments, `--result-file=${folder}/dump.sql`])],
    ['`mariadb`, the queries of a run', () => timeOf('mariadb', readWithClient)],
    [DRIVER, () => readWithDriver('rows')],
    ['mysql2, columns as Buffers', () => readWithDriver('buffers')],
    ['mysql2, columns joined by the server', () => readWithDriver('joined')],
    ['full run', generate],
    [HASHED, () => passBytes('hash')],
    [WRITTEN, () => passBytes('write')],
  ];
  return { candidates, stages };
}

/** @param work starts processes, and waits until they have ended */
async function costOf(work: () => Promise<unknown>, serverPid: number): Promise<Cost> {
  const [program, server] = [endedCpuSeconds(), cpuSeconds([serverPid])];
  const started = performance.now();
  await work();
  return {
    wall: (performance.now() - started) / 1000,
    program: endedCpuSeconds() - program,
    server: cpuSeconds([serverPid]) - server,
  };
}

function describe(
  games: number,
  rounds: number,
  costs: ReadonlyMap<string, readonly Cost[]>,
  stages: ReadonlyMap<string, readonly number[]>,
): string {
  const medianOf = (name: string): Cost => {
    const list = costs.get(name) ?? [];
    return {
      wall: median(list.map(({ wall }) => wall)),
      program: median(list.map(({ program }) => program)),
      server: median(list.map(({ server }) => server)),
    };
  };
  const half = ({ program, server }: Cost) => (program + server) / 2;
  const dump = medianOf(DUMP);
  const rows = [...costs.keys()].map((name) => {
    const cost = medianOf(name);
    const { wall, program, server } = cost;
    const ratios = [wall / dump.wall, half(cost) / half(dump)];
    return [name, ...[...ratios, wall, program, server].map((value) => value.toFixed(2))];
  });
  const least = [DRIVER, HASHED, WRITTEN].reduce((sum, name) => sum + half(medianOf(name)), 0);
  return [
    `${games} games, ${rounds} rounds in turn; medians, in seconds. The processor time is that of the program and of the database server. On two cores, nothing takes less time than half of their sum: the second ratio, which other programs on the machine disturb less than the first.`,
    table(['', 'time ÷ dump', 'processor ÷ dump', 'time', 'program', 'server'], rows),
    `To read the rows with the driver, and to hash and write the bytes of a generation once, takes ${(least / half(dump)).toFixed(2)} × the processor time of ${DUMP}. A run also checks every row, makes JSON of it, puts it in the order of the packs, sorts the titles, indexes their words, and reads all files again to verify them; the server computes the fingerprints of the rows.`,
    'Stages of the full run, in seconds of the main thread:',
    table(
      ['stage', 'time'],
      [...stages].map(([stage, times]) => [stage, median(times).toFixed(2)]),
    ),
  ].join('\n\n');
}
