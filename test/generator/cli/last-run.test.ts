/** How the last run ended, as the schedule reports it: also if the run could not write `status.json`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { encodeStatus } from '../../../format/status-file.ts';
import { addScheduleMetrics } from '../../../generator/cli/schedule-metrics.ts';
import { makeSampleSqlite } from '../../catalogue/snapshots.ts';
import { makeFolder } from '../../support/product.ts';
import { startSchedule } from '../schedule/start-schedule.ts';

const HOUR_MS = 3_600_000;

function writeStatus(dir: string, at: Date): void {
  const time = at.toISOString();
  writeFileSync(
    path.join(dir, 'status.json'),
    encodeStatus({
      finished_at: time,
      outcome: 'unchanged',
      current_as_of: time,
      error: null,
      agreed: [],
    }),
  );
}

test('a run of this process counts more than an older status, and less than a newer one', () => {
  const dir = makeFolder();
  const { lastRun, noteEnding } = addScheduleMetrics(new Registry(), dir);
  expect(lastRun()).toBe(undefined);
  const before = new Date(Date.now() - HOUR_MS);
  writeStatus(dir, before);
  expect(lastRun()).toMatchObject({ outcome: 'unchanged' });
  noteEnding({ outcome: 'failed', error: 'no space left on device', seconds: 1 });
  noteEnding({ outcome: 'locked', error: 'another run', seconds: 1 });
  expect(lastRun()).toMatchObject({
    outcome: 'failed',
    error: 'no space left on device',
    current_as_of: before.toISOString(),
  });
  writeStatus(dir, new Date(Date.now() + HOUR_MS));
  expect(lastRun()).toMatchObject({ outcome: 'unchanged', error: null });
});

test('/readyz and the metrics know of a failed run that could not write its status', async () => {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  // A folder with content is not replaced, so this write fails, as on a full disk.
  mkdirSync(path.join(snapshotsDir, 'status.json', 'x'), { recursive: true, mode: 0o700 });
  const schedule = startSchedule(await makeSampleSqlite(), snapshotsDir, {});
  const { admin } = JSON.parse(await schedule.logged('"scheduled"'));
  const get = async (name: string) => (await fetch(`http://${admin}/${name}`)).text();
  await schedule.logged('the generator failed: ');
  expect(await get('metrics')).toContain('{outcome="failed"} 1\n');
  expect(await get('metrics')).toContain('schedule_last_run_outcome{outcome="failed"} 1\n');
  const { last_run: lastRun } = JSON.parse(await get('readyz'));
  expect(lastRun).toMatchObject({ outcome: 'failed', current_as_of: null });
  expect(lastRun.error).toContain('write status.json');
  expect(await schedule.stop()).toBe(0);
});
