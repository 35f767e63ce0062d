/**
 * The alerts in an hour that promtool simulates, and the metrics of the real programs: what the simulations
 * begin with is among them. The tests of the programs show which fault changes which metric.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { until } from '#test/soak/support/until.ts';
import { makeAccounts, startPages } from '#test/support/account.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeFolder, ROOT, send, startLogged, startProxyProgram } from '#test/support/product.ts';
import { startRedis } from '#test/support/servers/redis.ts';

const SIMULATIONS = path.join(import.meta.dirname, 'alerts.yml');
const RULES = 'operations/prometheus/cover-catalogue-alerts.yml';
const PROGRAMS = ['proxy', 'schedule', 'account', 'replica'] as const;

interface Simulation {
  readonly input_series: readonly { readonly series: string }[];
  readonly alert_rule_test?: readonly {
    readonly alertname: string;
    /** Absent if the alert must be silent. */
    readonly exp_alerts?: unknown[];
  }[];
}

const { tests: simulations } = load(readFileSync(SIMULATIONS, 'utf8')) as { tests: Simulation[] };

/** Runs promtool. @param input for its stdin */
function promtool(args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

describe('the alerts', () => {
  test('fire as the simulations say, and are silent during an hour of health', () => {
    const file = path.join(ROOT, 'operations/prometheus/prometheus.yml');
    expect(promtool(['check', 'config', file])).toMatchObject({ code: 0 });
    const simulated = promtool(['test', 'rules', SIMULATIONS]);
    expect(simulated).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') });
  });

  test('are those of the simulations', () => {
    const firing = simulations
      .flatMap(({ alert_rule_test: tests = [] }) => tests)
      .filter(({ exp_alerts: alerts = [] }) => alerts.length > 0)
      .map(({ alertname }) => alertname);
    const rules = readFileSync(path.join(ROOT, RULES), 'utf8').matchAll(/- alert: (\w+)/g);
    expect(firing.toSorted()).toEqual([...rules].map(([, name = '']) => name).toSorted());
  });
});

const metricsOf = async (program: keyof typeof admin) =>
  (await send(`http://${admin[program]}/metrics`)).text;

/** Starts a program. @returns its admin address, which it logs with this message */
async function start(program: string, message: string, environment: Record<string, string>) {
  const running = startLogged(program, [], environment);
  return String(JSON.parse(await running.logged(`"msg":"${message}"`)).admin);
}

/** Starts a schedule that pushes to depots, a replica of them, a proxy of the replica, and the account pages. */
const folder = makeFolder();
const at = (name: string) => path.join(folder, name);
for (const name of ['depot', 'keys']) mkdirSync(at(name), { mode: 0o700 });
const redis = await startRedis();
atEndOfFile(redis.stop);
const DATABASE_URL = await makeAccounts(await makeSampleSqlite());
const KEYS_DEPOT = at('keys');
const [schedule, replica] = await Promise.all([
  start('schedule', 'scheduled', {
    ...{ DATABASE_URL, SNAPSHOTS_DIR: at('origin'), SNAPSHOT_PUSH: at('depot'), KEYS_DEPOT },
  }),
  start('replica', 'replicating', {
    ...{ REPLICA_FROM: at('depot'), SNAPSHOTS_DIR: at('replica'), KEYS_DEPOT },
  }),
]);
const pages = await startPages(DATABASE_URL, { MAIL_FOLDER: at('mail') });
const proxy = await startProxyProgram(at('replica'), { LIMITS_URL: redis.url });
await until(async () => (await proxy.readyz()).status === 200);
// A refusal, and a response.
expect((await send(`${proxy.url}/api/v1/stats`)).status).toBe(401);
const [own, account] = [proxy, pages].map(({ listening }) => String(listening.admin));
/** Where each program has its admin address. */
const admin = { proxy: own, schedule, account, replica };

describe('the metrics', () => {
  test.each(PROGRAMS)('of %s are well-formed', async (program) => {
    const checked = promtool(['check', 'metrics'], await metricsOf(program));
    expect(checked).toEqual({ code: 0, output: '' });
  });

  test('of the simulations are those of the programs, with the same labels', async () => {
    const texts = await Promise.all(PROGRAMS.map(metricsOf));
    const shapeOf = (series: string) => {
      const [name = '', labels = ''] = series.split(/[{}]/);
      const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
      const own = names.filter((label) => label !== 'instance' && label !== 'job');
      return `${name}{${own.toSorted()}}`;
    };
    const made = new Set(
      texts.flatMap((text) => (text.match(/^\w+(?:\{.*\})?(?= )/gm) ?? []).map(shapeOf)),
    );
    const used = simulations
      .flatMap(({ input_series: list }) => list.map(({ series }) => shapeOf(series)))
      // Prometheus and its exporter make these.
      .filter((shape) => !/^(?:up|probe_\w+)\{/.test(shape));
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter((shape) => !made.has(shape))).toEqual([]);
  });

  test('count what a schedule has published and a replica has received', async () => {
    await until(async () => /^snapshots_generations 1$/m.test(await metricsOf('schedule')));
    expect(await metricsOf('schedule')).toMatch(/^snapshots_generations_bytes [1-9]\d{4}/m);
    expect(await metricsOf('replica')).toMatch(/^replica_received_bytes_total [1-9]/m);
  });
});
