/** The metrics about rows, from reports of runs that ended in different ways. */
import { utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { addScheduleMetrics } from '../../../generator/cli/schedule-metrics.ts';
import { makeFolder } from '../../support/product.ts';

test('the rows left out are those of the last run that published or found nothing new', async () => {
  const dir = makeFolder();
  const registry = new Registry();
  let reports = 0;
  addScheduleMetrics(registry, dir);
  const read = async (outcome: string, rows: number, leftOut: number) => {
    const tables = { covers: { rows, left_out: leftOut, reasons: {} } };
    const file = path.join(dir, 'report.json');
    writeFileSync(file, JSON.stringify({ outcome, tables }));
    // Each report has another modification time.
    utimesSync(file, ++reports, reports);
    const metrics = await registry.metrics();
    return ['schedule_rows', 'schedule_rows_left_out'].map(
      (name) => new RegExp(`^${name}\\{table="covers"\\} (\\d+)$`, 'm').exec(metrics)?.[1],
    );
  };
  expect(await read('refused', 0, 0)).toEqual(['0', undefined]);
  expect(await read('published', 100, 3)).toEqual(['100', '3']);
  expect(await read('refused', 0, 0)).toEqual(['0', '3']);
  expect(await read('dry_run', 90, 50)).toEqual(['90', '3']);
  expect(await read('held', 90, 50)).toEqual(['90', '3']);
  expect(await read('unchanged', 101, 4)).toEqual(['101', '4']);
});
