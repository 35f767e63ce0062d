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
    ['mysql2, the queries of a run', () => readWithDriver('rows')],
    ['mysql2, columns as Buffers', () => readWithDriver('buffers')],
    ['mysql2, columns joined by the server', () => readWithDriver('joined')],
    ['full run', generate],
    ['the bytes of the generation, hashed once', () => passBytes('hash')],
    ['the bytes of the generation, written and synced', () => passBytes('write')],
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
  const medianOf = (name: string, part: keyof Cost) =>
    median((costs.get(name) ?? []).map((cost) => cost[part]));
  const rows = [...costs.keys()].map((name) => {
    const [wall, program, server] = (['wall', 'program', 'server'] as const).map((part) =>
      medianOf(name, part),
    );
    const cells = [wall / medianOf(DUMP, 'wall'), wall, program, server, (program + server) / 2];
    return [name, ...cells.map((value) => value.toFixed(2))];
  });
  return [
    `${games} games, ${rounds} rounds in turn; medians, in seconds. "Half the sum" is the least time that the processor time takes on two cores. The queries are those of a full run, in one consistent read.`,
    table(['', '÷ `mariadb-dump`', 'time', 'processor', 'of the server', 'half the sum'], rows),
    'Stages of the full run, in seconds of the main thread:',
    table(
      ['stage', 'time'],
      [...stages].map(([stage, times]) => [stage, median(times).toFixed(2)]),
    ),
  ].join('\n\n');
}
