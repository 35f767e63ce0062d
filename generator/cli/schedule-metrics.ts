/**
 * The metrics of the schedule. The rows are those of the last report, so the metrics know them after a
 * restart, too, and know runs of `cover-catalogue generate`.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { Counter, Gauge, type Registry } from 'prom-client';
import { REPORT } from '../../format/layout.ts';
import { addGauge, addGauges } from '../../program/admin/readings.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import type { ReportContent, RunEnd } from '../report/report.ts';
import type { LastRun } from './last-run.ts';
import { RUN_OUTCOMES, type RunEnding } from './runs.ts';

/** In bytes. A report lists at most 100 rows for each reason. */
const LARGEST_REPORT = 16 * 2 ** 20;
/** The outcomes of runs that write `status.json`. */
const STATUS_OUTCOMES = RUN_OUTCOMES.filter((outcome) => outcome !== 'locked');

type Tables = ReportContent['tables'];

/** What the metrics take from reports. */
interface Rows {
  /** The tables of the last report. */
  readonly read: Tables;
  /** The tables of the last report of a run that published or found nothing new. */
  readonly published: Tables;
  /** See {@link RunEnd.takedowns_waiting}. */
  readonly takedownsWaiting: number | undefined;
}
const UNKNOWN_ROWS: Rows = { read: {}, published: {}, takedownsWaiting: undefined };

/** @returns a function that counts a run that has ended */
export function addScheduleMetrics(
  registry: Registry,
  snapshotsDir: string,
  lastRun: LastRun,
): (ending: RunEnding) => void {
  addLastRun(registry, lastRun);
  addRows(registry, makeRowsReader(path.join(snapshotsDir, REPORT)));
  return addRuns(registry);
}

function addRuns(registry: Registry): (ending: RunEnding) => void {
  const registers = [registry];
  const runs = new Counter({
    name: 'schedule_runs_total',
    help: 'Ended runs, by outcome',
    labelNames: ['outcome'] as const,
    registers,
  });
  for (const outcome of RUN_OUTCOMES) runs.inc({ outcome }, 0);
  let lastSeconds: number | undefined;
  addGauge(registry, 'schedule_run_seconds', 'How long the last run took', () => lastSeconds);
  const stageSeconds = new Gauge({
    name: 'schedule_run_stage_seconds',
    help: 'How long each stage took in the last run that read all rows',
    labelNames: ['stage'] as const,
    registers,
  });
  return ({ outcome, seconds, stages }) => {
    runs.inc({ outcome });
    lastSeconds = seconds;
    if (stages === undefined) return;
    stageSeconds.reset();
    for (const [stage, taken] of Object.entries(stages)) stageSeconds.set({ stage }, taken);
  };
}

function addLastRun(registry: Registry, lastRun: LastRun): void {
  const secondsOf = (time: string | null | undefined) =>
    time ? Date.parse(time) / 1000 : undefined;
  addGauges(
    registry,
    'schedule_last_run_outcome',
    '1 for the outcome of the last run, 0 for all others',
    'outcome',
    () => {
      const last = lastRun.read()?.outcome;
      return STATUS_OUTCOMES.map((outcome) => [outcome, Number(outcome === last)] as const);
    },
  );
  addGauge(registry, 'schedule_last_run_timestamp_seconds', 'When the last run ended', () =>
    secondsOf(lastRun.read()?.finished_at),
  );
  addGauge(
    registry,
    'schedule_last_success_timestamp_seconds',
    'When a run last found the current generation equal to the database, or made it so',
    () => secondsOf(lastRun.read()?.current_as_of),
  );
}

function addRows(registry: Registry, readRows: () => Rows): void {
  addGauges(registry, 'schedule_rows', 'Rows in each table, as of the last report', 'table', () =>
    Object.entries(readRows().read).map(([table, { rows }]) => [table, rows] as const),
  );
  addGauges(
    registry,
    'schedule_rows_left_out',
    'Rows left out in the last run that published or found nothing new',
    'table',
    () =>
      Object.entries(readRows().published).map(
        ([table, { left_out: leftOut }]) => [table, leftOut] as const,
      ),
  );
  addGauge(
    registry,
    'schedule_takedowns_waiting',
    'Covers that stay public because the last run was refused',
    () => readRows().takedownsWaiting,
  );
}

/** @returns a function that reads the rows from the report, and parses it only if it has changed */
function makeRowsReader(file: string): () => Rows {
  let lastMtime: number | undefined;
  let rows = UNKNOWN_ROWS;
  return () => {
    try {
      const { mtimeMs } = statSync(file);
      if (mtimeMs === lastMtime) return rows;
      const { outcome, tables, takedownsWaiting } = readReport(file);
      // The rows of a refused run, or of a dry run, were not published.
      const isServed = outcome === 'published' || outcome === 'unchanged';
      rows = { read: tables, published: isServed ? tables : rows.published, takedownsWaiting };
      lastMtime = mtimeMs;
    } catch {
      // There is none yet, or it cannot be read: the rows are not known.
      lastMtime = undefined;
      rows = UNKNOWN_ROWS;
    }
    return rows;
  };
}

/** @throws Error if the file cannot be read, or is not a report */
function readReport(file: string) {
  const text = readBoundedFileSync(file, LARGEST_REPORT).toString('utf8');
  const report: Partial<ReportContent & RunEnd> = JSON.parse(text) ?? {};
  const { outcome, tables, takedowns_waiting: waiting } = report;
  const counts = Object.values(tables ?? {}).flatMap(({ rows, left_out }) => [rows, left_out]);
  if (tables === undefined || !counts.every(Number.isFinite)) throw new Error('not a report');
  return { outcome, tables, takedownsWaiting: waiting ?? (outcome === 'refused' ? undefined : 0) };
}
