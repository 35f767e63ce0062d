/** The metrics of all programs, as promtool sees them, and what the schedule and a replica count. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../../../support/servers/redis.ts';
import { until } from '../../support/until.ts';
import { type Installation, PROGRAMS, type Program, startInstallation } from './installation.ts';
import { promtool } from './prometheus.ts';

let redis: RedisServer;
let installation: Installation;

beforeAll(async () => {
  redis = await startRedis();
  // So that the proxy has the metrics of shared limits, too.
  installation = await startInstallation({ LIMITS_URL: redis.url });
});
afterAll(async () => {
  await redis.stop();
});

/** The value of one series; undefined if there is none. */
async function seriesIn(program: Program, series: string): Promise<number | undefined> {
  const line = (await installation.metrics(program))
    .split('\n')
    .find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

test.each(PROGRAMS)('promtool finds nothing wrong with the metrics of %s', async (program) => {
  const checked = promtool(['check', 'metrics'], await installation.metrics(program));
  expect(checked).toEqual({ code: 0, output: '' });
});

describe('schedule', () => {
  test('counts runs, rows, generations and tasks', async () => {
    await until(
      async () => (await seriesIn('schedule', 'schedule_runs_total{outcome="published"}')) === 1,
    );
    const metrics = await installation.metrics('schedule');
    expect(metrics).toContain('schedule_last_run_outcome{outcome="published"} 1\n');
    expect(metrics).toContain('schedule_last_run_outcome{outcome="failed"} 0\n');
    expect(metrics).toMatch(/^schedule_rows\{table="games"\} [1-9]\d*$/m);
    expect(metrics).toContain('schedule_rows_left_out{table="games"} 0\n');
    expect(metrics).toContain('snapshots_generations 1\n');
    expect(metrics).toMatch(/^task_runs_total\{task="export_keys",outcome="done"\} [1-9]/m);
    expect(metrics).toContain('task_failing{task="poll_changes"} 0\n');
    expect(await seriesIn('schedule', 'snapshots_generations_bytes')).toBeGreaterThan(10_000);
    const age =
      Date.now() / 1000 -
      Number(await seriesIn('schedule', 'schedule_last_success_timestamp_seconds'));
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(60);
  });

  test('a damaged report or status does not hide the other metrics', async () => {
    const { originDir } = installation;
    const files = ['report.json', 'status.json'].map((name) => path.join(originDir, name));
    const before = files.map((file) => readFileSync(file));
    for (const text of ['', 'null', '{"tables":{"games":{"rows":"many"}}}']) {
      for (const file of files) writeFileSync(file, text);
      const metrics = await installation.metrics('schedule');
      expect(metrics).toContain('schedule_runs_total{outcome="published"} 1\n');
      expect(metrics).not.toContain('schedule_rows{');
    }
    for (const [index, file] of files.entries()) writeFileSync(file, before[index] ?? '');
    expect(await installation.metrics('schedule')).toContain('schedule_rows{table="games"}');
  });
});

describe('replica', () => {
  test('counts pulls and checks', async () => {
    const metrics = await installation.metrics('replica');
    expect(metrics).toContain('replica_pulls_total 1\n');
    expect(metrics).toMatch(/^replica_files_total\{how="fetched"\} [1-9]/m);
    expect(metrics).toMatch(/^replica_received_bytes_total [1-9]/m);
    expect(metrics).toContain('task_failing{task="check_snapshot"} 0\n');
    expect(metrics).toContain('task_failing{task="check_keys"} 0\n');
  });
});
