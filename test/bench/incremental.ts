/**
 * Compares runs that read only what has changed with full runs and with `mariadb-dump` of the same
 * database, whose tables have `updated_at`. Each kind of run follows the others in every round.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { timeOf } from '../support/processes.ts';
import { type MariaDb, startMariaDb } from '../support/servers/mariadb.ts';
import { median, type PartOptions, table } from './part.ts';
import { runGenerator } from './run-generator.ts';
import { loadTimedCatalogue } from './timed-catalogue.ts';

const GAMES = 300_000;
/** Long ago, so that the next run need not read the row again. */
const CHANGED = 'updated_at = UTC_TIMESTAMP() - INTERVAL 1 HOUR';

/** Each kind of run, and the change before it. */
const CHANGES: Readonly<Record<string, (database: Database, round: number) => Promise<unknown>>> = {
  'nothing changed': async () => {},
  'one cover rejected': async ({ run, rows }, round) => {
    const [[id]] = await rows(
      `SELECT id FROM covers WHERE status = 'approved' ORDER BY id LIMIT 1 OFFSET ${round * 1000}`,
    );
    await run(`UPDATE covers SET status = 'rejected', ${CHANGED} WHERE id = ?`, [id]);
  },
  'one game changed, same title': ({ run }, round) =>
    run(`UPDATE games SET description = ?, ${CHANGED} ORDER BY id LIMIT 1`, [`Round ${round}`]),
  'one game added': ({ run }, round) =>
    run(
      `INSERT INTO games (id, platform_id, slug, title, updated_at)
        SELECT MAX(id) + 1, MIN(platform_id), ?, ?, UTC_TIMESTAMP() - INTERVAL 1 HOUR FROM games`,
      [`added-${round}`, `Added ${round}`],
    ),
  '1 % of the games changed': ({ run }, round) =>
    run(`UPDATE games SET description = ?, ${CHANGED} WHERE id % 100 = ${round}`, [
      `Round ${round}`,
    ]),
};

interface Measured {
  readonly seconds: number;
  readonly memory: number;
}

export async function run({ rounds, games = GAMES, report }: PartOptions): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'catalogue-bench-'));
  const server = await startMariaDb();
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clear);
  try {
    report(`  ${games} games: loading`);
    const url = await server.createDatabase('seeded');
    // With a million games, adding an index takes longer than a minute.
    const database = await openDatabase(url, { stallSeconds: 600 });
    await loadTimedCatalogue(database, seededCatalogue({ games, seed: 5 }));
    const dump: number[] = [];
    const runs = new Map<string, Measured[]>();
    // As `schedule` starts runs.
    const environment = { NODE_COMPILE_CACHE: path.join(folder, 'compile-cache') };
    const generate = async (kind: string) => {
      const snapshots = path.join(folder, 'snapshots');
      const measured = await measure(url, snapshots, environment, kind === 'full');
      runs.set(kind, [...(runs.get(kind) ?? []), measured]);
    };
    for (let round = 1; round <= rounds; round++) {
      report(`  round ${round}`);
      dump.push(await dumpSeconds(server, folder));
      rmSync(path.join(folder, 'snapshots'), { recursive: true, force: true });
      await generate('full');
      for (const [kind, change] of Object.entries(CHANGES)) {
        await change(database, round);
        await generate(kind);
      }
    }
    await database.close();
    return describe(games, rounds, median(dump), runs);
  } finally {
    await server.stop();
    process.removeListener('exit', clear);
    clear();
  }
}

function dumpSeconds(server: MariaDb, folder: string): Promise<number> {
  const file = path.join(folder, 'dump.sql');
  rmSync(file, { force: true });
  const [command, args] = server.dumpCommand('seeded');
  return timeOf(command, [...args, `--result-file=${file}`]);
}

/** @throws Error if a run reads more or fewer rows than it should */
async function measure(
  url: string,
  snapshotsDir: string,
  environment: Readonly<Record<string, string>>,
  isFull: boolean,
): Promise<Measured> {
  const started = performance.now();
  const result = await runGenerator(url, snapshotsDir, environment);
  const { peak_memory_mb: memory, read_all_because: reason } = result;
  if ((reason !== null) !== isFull) throw new Error(`The run has read all rows: ${reason}.`);
  return { seconds: (performance.now() - started) / 1000, memory };
}

function describe(
  games: number,
  rounds: number,
  dump: number,
  runs: ReadonlyMap<string, readonly Measured[]>,
): string {
  const secondsOf = (list: readonly Measured[]) => median(list.map(({ seconds }) => seconds));
  const full = secondsOf(runs.get('full') ?? []);
  const rows = [...runs].map(([kind, list]) => [
    kind,
    (secondsOf(list) / full).toFixed(2),
    (secondsOf(list) / dump).toFixed(2),
    secondsOf(list).toFixed(2),
    String(Math.max(...list.map(({ memory }) => memory))),
  ]);
  return [
    `${games} games, ${rounds} rounds in turn. Times are medians, memory is the highest of all rounds. \`mariadb-dump\` takes ${dump.toFixed(1)} s.`,
    table(['', '÷ full', '÷ `mariadb-dump`', 's', 'peak MB'], rows),
  ].join('\n\n');
}
