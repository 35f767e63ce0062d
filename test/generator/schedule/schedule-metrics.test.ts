/** The metrics of runs, and how the last one ended: also if it could not write `status.json`. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { addScheduleMetrics } from '#generator/schedule/schedule-metrics.ts';
import { statusFile } from '#lib/format/status-file.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { makeFolder } from '#test/support/product.ts';
import { startSchedule } from './start-schedule.ts';

const HOUR_MS = 3_600_000;

test('the rows left out are those of the last run that published or found nothing new', async () => {
  const dir = makeFolder();
  const registry = new Registry();
  addScheduleMetrics(registry, dir);
  let reports = 0;
  for (const [outcome, rows, leftOut, shown] of [
    ['refused', 0, 0, undefined],
    ['published', 100, 3, '3'],
    ['refused', 0, 0, '3'],
    ['dry_run', 90, 50, '3'],
    ['held', 90, 50, '3'],
    ['unchanged', 101, 4, '4'],
  ]) {
    const tables = { covers: { rows, left_out: leftOut, reasons: {} } };
    const file = path.join(dir, 'report.json');
    writeFileSync(file, JSON.stringify({ outcome, tables }));
    // Each report has another modification time.
    utimesSync(file, ++reports, reports);
    const metrics = await registry.metrics();
    const found = ['schedule_rows', 'schedule_rows_left_out'].map(
      (name) => new RegExp(`^${name}\\{table="covers"\\} (\\d+)$`, 'm').exec(metrics)?.[1],
    );
    expect(found, `report ${reports}`).toEqual([String(rows), shown]);
  }
});

test('a run of this process counts more than an older status, and less than a newer one', () => {
  const dir = makeFolder();
  const { lastRun, noteEnding } = addScheduleMetrics(new Registry(), dir);
  expect(lastRun()).toBe(undefined);
  /** @returns when the run ended that wrote the status */
  const writeStatus = (hours: number) => {
    const time = new Date(Date.now() + hours * HOUR_MS).toISOString();
    const status = { finished_at: time, outcome: 'unchanged', current_as_of: time } as const;
    const text = statusFile.encode({ ...status, error: null, id: '000001-0123456789ab' });
    writeFileSync(path.join(dir, 'status.json'), text);
    return time;
  };
  const before = writeStatus(-1);
  expect(lastRun()).toMatchObject({ outcome: 'unchanged' });
  const failed = { outcome: 'failed', error: 'no space left on device' } as const;
  noteEnding({ ...failed, seconds: 1 });
  noteEnding({ outcome: 'locked', error: 'another run', seconds: 1 });
  expect(lastRun()).toMatchObject({ ...failed, current_as_of: before });
  writeStatus(1);
  expect(lastRun()).toMatchObject({ outcome: 'unchanged', error: null });
});

test('/readyz and the metrics know of a failed run that could not write its status', async () => {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  // A folder with content is not replaced, so this write fails, as on a full disk.
  mkdirSync(path.join(snapshotsDir, 'status.json', 'x'), { recursive: true, mode: 0o700 });
  const schedule = startSchedule(await makeSampleSqlite(), snapshotsDir);
  const { admin } = JSON.parse(await schedule.logged('"scheduled"'));
  const get = async (name: string) => (await fetch(`http://${admin}/${name}`)).text();
  await schedule.logged('the generator failed: ');
  const metrics = await get('metrics');
  expect(metrics).toContain('{outcome="failed"} 1\n');
  expect(metrics).toContain('schedule_last_run_outcome{outcome="failed"} 1\n');
  expect(JSON.parse(await get('readyz')).last_run).toMatchObject({
    outcome: 'failed',
    current_as_of: null,
    error: expect.stringContaining('write status.json'),
  });
  expect(await schedule.stop()).toBe(0);
});
