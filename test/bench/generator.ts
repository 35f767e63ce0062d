/**
 * The generator compared with `mariadb-dump` of the same tables: a full run, and runs after a change. Both connect
 * over TCP and write to the same disk.
 */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { timeOf } from '../support/processes.ts';
import {
  type Candidate,
  cell,
  type Figures,
  type Findings,
  failureList,
  measureInTurn,
  medianOf,
  type Options,
  ratioOf,
  table,
  valuesOf,
} from './figures.ts';
import { BASELINE, DATABASE, generate, PRODUCT, type Prepared, type Product } from './prepare.ts';
import { endedCpuSeconds } from './processes.ts';

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
  'the game deleted': ({ run }, round) =>
    run('DELETE FROM games WHERE slug = ?', [`added-${round}`]),
  '50 covers changed': ({ run }) =>
    run(`UPDATE covers SET region = 'World', ${CHANGED} ORDER BY RAND() LIMIT 50`),
  '1 % of the games changed': ({ run }, round) =>
    run(`UPDATE games SET description = ?, ${CHANGED} WHERE id % 100 = ${round}`, [
      `Round ${round}`,
    ]),
};

export async function measureGenerator(prepared: Prepared, options: Options): Promise<string> {
  const { mariaDb, databaseUrl, products, folder } = prepared;
  const database = await openDatabase(databaseUrl, { stallSeconds: 600 });
  const dumpFile = path.join(folder, 'dump.sql');
  const [command, words] = mariaDb.dumpCommand(DATABASE);
  const tables = ['platforms', 'games', 'covers', 'cover_files'];
  const dump: Candidate = {
    name: DUMP,
    async measure() {
      rmSync(dumpFile, { force: true });
      const cpu = endedCpuSeconds();
      const seconds = await timeOf(command, [...words, ...tables, `--result-file=${dumpFile}`]);
      return { seconds, cpu: endedCpuSeconds() - cpu };
    },
  };
  const candidates = [FULL, ...Object.keys(CHANGES)].flatMap((step) =>
    products.map((product): Candidate => {
      const measure = async (round: number) => {
        // All products follow the same change.
        if (product.name === PRODUCT) await CHANGES[step]?.(database, round);
        return measureRun(prepared, product, step === FULL);
      };
      return { name: nameOf(step, product.name), measure };
    }),
  );
  try {
    return describe(
      products,
      await measureInTurn([dump, ...candidates], options, { isWarmedUp: false }),
    );
  } finally {
    await database.close();
  }
}

const nameOf = (step: string, product: string) =>
  product === PRODUCT ? step : `${step}, ${product}`;

/** @throws Error if a run reads all rows although it need not, or the other way round */
async function measureRun(
  { folder, databaseUrl }: Prepared,
  { name, root }: Product,
  isFull: boolean,
): Promise<Figures> {
  const snapshotsDir = path.join(folder, name, 'runs');
  if (isFull) rmSync(snapshotsDir, { recursive: true, force: true });
  mkdirSync(snapshotsDir, { recursive: true });
  const [cpu, started] = [endedCpuSeconds(), performance.now()];
  const { peak_memory_mb: memory, read_all_because: reason } = await generate(
    ...[root, databaseUrl, snapshotsDir],
  );
  const seconds = (performance.now() - started) / 1000;
  if ((reason !== null) !== isFull) throw new Error(`it has read all rows: ${reason}`);
  return { seconds, cpu: endedCpuSeconds() - cpu, memory };
}

function describe(products: readonly Product[], findings: Findings): string {
  const hasBaseline = products.some(({ name }) => name === BASELINE);
  const steps = [FULL, ...Object.keys(CHANGES)];
  const ratios = steps.map((step) => {
    const ratio = (other: string, figure: string) => cell(ratioOf(findings, step, other, figure));
    return [
      step,
      ...[ratio(DUMP, 'seconds'), ratio(FULL, 'seconds'), ratio(FULL, 'cpu')],
      ...(hasBaseline ? [ratio(nameOf(step, BASELINE), 'cpu')] : []),
    ];
  });
  const figures = [...findings.found.keys()].map((name) => {
    const [seconds, cpu] = ['seconds', 'cpu'].map((one) => cell(medianOf(findings, name, one)));
    const peaks = valuesOf(findings, name, 'memory');
    return [name, seconds, cpu, peaks.length === 0 ? '' : cell(Math.max(...peaks))];
  });
  const head = ['', `time ÷ ${DUMP}`, 'time ÷ full', 'processor time ÷ full'];
  return (
    [
      'A run after a change reads only what has changed. The processor time is that of the program, without the database server.',
      table(hasBaseline ? [...head, `processor time ÷ ${BASELINE}`] : head, ratios),
      table(['', 'time, s', 'processor time, s', 'peak, MB'], figures),
    ].join('\n\n') + failureList(findings)
  );
}
