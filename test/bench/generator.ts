/**
 * The generator compared with `mariadb-dump` of the same tables: a full run, and runs after a change. Both connect
 * over TCP and write to the same disk.
 */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import {
  type Candidate,
  cell,
  type Figures,
  type Findings,
  failureList,
  measureInTurn,
  medianOf,
  nameOf,
  type Options,
  PRODUCT,
  ratioOf,
  table,
  valuesOf,
} from './figures.ts';
import { BASELINE, DATABASE, generate, type Prepared } from './prepare.ts';
import { endedCpuSeconds } from './processes.ts';

const run = promisify(execFile);
const DUMP = '`mariadb-dump`';
const FULL = 'full';
/** Long ago, so that the next run need not read the row again. */
const CHANGED = 'updated_at = UTC_TIMESTAMP() - INTERVAL 1 HOUR';

/** The changes after which a run follows. */
const CHANGES: Readonly<Record<string, (database: Database, round: number) => Promise<unknown>>> = {
  'nothing changed': async () => {},
  'one cover rejected': async ({ run, rows }) => {
    const [[id]] = await rows("SELECT MIN(id) FROM covers WHERE status = 'approved'");
    await run(`UPDATE covers SET status = 'rejected', ${CHANGED} WHERE id = ?`, [id]);
  },
  'one game changed': ({ run }, round) =>
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

export async function measureGenerator(prepared: Prepared, options: Options): Promise<string> {
  const { databaseServer, databaseUrl, products, folder } = prepared;
  const database = await openDatabase(databaseUrl, { stallSeconds: 600 });
  const dumpFile = path.join(folder, 'dump.sql');
  const [command, words] = databaseServer.dumpCommand(DATABASE);
  const tables = ['platforms', 'games', 'covers', 'cover_files'];
  const dump: Candidate = {
    name: DUMP,
    async measure() {
      rmSync(dumpFile, { force: true });
      const cpu = endedCpuSeconds();
      const started = performance.now();
      await run(command, [...words, ...tables, `--result-file=${dumpFile}`]);
      return { seconds: (performance.now() - started) / 1000, cpu: endedCpuSeconds() - cpu };
    },
  };
  const steps = [FULL, ...Object.keys(CHANGES)];
  const candidates = steps.flatMap((step) =>
    products.map((product): Candidate => {
      const measure = async (round: number) => {
        // All products follow the same change.
        if (product.name === PRODUCT) await CHANGES[step]?.(database, round);
        const snapshotsDir = path.join(folder, product.name, 'runs');
        return measureRun(product.root, databaseUrl, snapshotsDir, step === FULL);
      };
      return { name: nameOf(step, product.name), measure };
    }),
  );
  const findings = await measureInTurn([dump, ...candidates], options, { isWarmedUp: false });
  await database.close();
  return describe(steps, findings);
}

/** @throws Error if a run reads all rows although it need not, or the other way round */
export async function measureRun(
  root: string,
  databaseUrl: string,
  snapshotsDir: string,
  isFull: boolean,
): Promise<Figures> {
  if (isFull) rmSync(snapshotsDir, { recursive: true, force: true });
  const [cpu, started] = [endedCpuSeconds(), performance.now()];
  const result = await generate(root, databaseUrl, snapshotsDir);
  const seconds = (performance.now() - started) / 1000;
  const reason = result.read_all_because;
  if ((reason !== null) !== isFull) throw new Error(`it has read all rows: ${reason}`);
  return { seconds, cpu: endedCpuSeconds() - cpu, memory: result.peak_memory_mb };
}

function describe(steps: readonly string[], findings: Findings): string {
  const full = nameOf(FULL, PRODUCT);
  const ratios = steps.map((step) => {
    const name = nameOf(step, PRODUCT);
    const baseline = nameOf(step, BASELINE);
    const compared = [
      [DUMP, 'seconds'],
      [full, 'seconds'],
      [full, 'cpu'],
      [baseline, 'cpu'],
    ];
    const cells = compared
      .filter(([other]) => findings.found.has(other))
      .map(([other, figure]) => cell(ratioOf(findings, name, other, figure)));
    return [step, ...cells];
  });
  const figures = [...findings.found.keys()].map((name) => {
    const [seconds, cpu] = ['seconds', 'cpu'].map((one) => cell(medianOf(findings, name, one)));
    const peak = Math.max(...valuesOf(findings, name, 'memory'));
    return [name, seconds, cpu, name === DUMP ? '–' : cell(peak)];
  });
  const head = ['', `time ÷ ${DUMP}`, 'time ÷ full', 'CPU ÷ full', `CPU ÷ ${BASELINE}`];
  return [
    'A run after a change reads only what has changed. CPU is the processor time of the program, without the database server.',
    table(head.slice(0, ratios[0].length), ratios),
    table(['', 'time, s', 'CPU, s', 'peak, MB'], figures),
    failureList(findings),
  ].join('\n\n');
}
