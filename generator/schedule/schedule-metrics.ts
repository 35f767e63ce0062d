/**
 * The metrics of the schedule, and how the last run ended. After a restart, and after a run of
 * `cover-catalogue generate`, only `status.json` and the last report know it. On a full disk, a run cannot
 * write these files, so the endings of this process's own runs are also kept in memory.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { Counter, type Registry } from 'prom-client';
import { REPORT } from '../../lib/format/layout.ts';
import type { RunStatus } from '../../lib/format/status-file.ts';
import { readStatus } from '../../lib/generations/state-files.ts';
import { addGauge, addGauges } from '../../lib/program/admin/metrics.ts';
import { readBoundedFileSync } from '../../lib/program/files/bounded-file.ts';
import { utcNow } from '../../lib/program/utc-now.ts';
import type { ReportContent, ReportEnd } from '../report/report.ts';
import { type ProcessEnd, RUN_OUTCOMES, STATUS_OUTCOMES } from './runs.ts';

/** In bytes. A report lists at most 100 rows for each reason. */
const LARGEST_REPORT = 16 * 2 ** 20;

type TableReports = ReportContent['tables'];
/** `read` are the tables of the last report, `served` those of the last one whose rows are public. */
type ReportedCounts = {
  read: TableReports;
  served: TableReports;
  takedownsWaiting: number | undefined;
};
const UNKNOWN: ReportedCounts = { read: {}, served: {}, takedownsWaiting: undefined };

/** Adds the metrics of runs, and of the rows that they read. */
export function addScheduleMetrics(registry: Registry, snapshotsDir: string) {
  let own: Pick<RunStatus, 'finished_at' | 'outcome' | 'error'> | undefined;
  let lastSeconds: number | undefined;

  /** @returns undefined if no run has ended yet, or none is known */
  function lastRun(): RunStatus | undefined {
    const stored = readStatus(snapshotsDir);
    const storedAt = Date.parse(stored?.finished_at ?? '');
    // It is newer if a run of `generate` has ended since.
    if (own === undefined || storedAt > Date.parse(own.finished_at)) return stored;
    return { id: null, current_as_of: null, ...stored, ...own };
  }

  const runs = new Counter({
    name: 'schedule_runs_total',
    help: 'Ended runs, by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of RUN_OUTCOMES) runs.inc({ outcome }, 0);
  addGauge(registry, 'schedule_run_seconds', 'How long the last run took', () => lastSeconds);
  const oneOf = '1 for the outcome of the last run, 0 for all others';
  addGauges(registry, 'schedule_last_run_outcome', oneOf, 'outcome', () => {
    const last = lastRun()?.outcome;
    return STATUS_OUTCOMES.map((outcome) => [outcome, Number(outcome === last)]);
  });
  addGauge(registry, 'schedule_last_run_timestamp_seconds', 'When the last run ended', () =>
    secondsOf(lastRun()?.finished_at),
  );
  addGauge(
    registry,
    'schedule_last_success_timestamp_seconds',
    'When a run last found the current generation equal to the database, or made it so',
    () => secondsOf(lastRun()?.current_as_of),
  );
  addRows(registry, makeRowsReader(path.join(snapshotsDir, REPORT)));

  return {
    lastRun,
    /** Counts a run of this process that has ended, and keeps how it ended. */
    noteEnding({ outcome, seconds, error }: ProcessEnd): void {
      // The run that held the lock has an ending of its own.
      if (outcome !== 'locked') own = { finished_at: utcNow(), outcome, error };
      runs.inc({ outcome });
      lastSeconds = seconds;
    },
  };
}

function secondsOf(time: string | null | undefined): number | undefined {
  return time ? Date.parse(time) / 1000 : undefined;
}

function addRows(registry: Registry, readRows: () => ReportedCounts): void {
  const add = (name: string, help: string, kind: 'read' | 'served', of: 'rows' | 'left_out') =>
    addGauges(registry, name, help, 'table', () =>
      Object.entries(readRows()[kind]).map(([table, counts]) => [table, counts[of]]),
    );
  add('schedule_rows', 'Rows in each table, as of the last report', 'read', 'rows');
  const help = 'Rows left out in the last run that published or found nothing new';
  add('schedule_rows_left_out', help, 'served', 'left_out');
  addGauge(
    registry,
    'schedule_takedowns_waiting',
    'Covers that stay public as they are because the last run was refused',
    () => readRows().takedownsWaiting,
  );
}

/** @returns a function that reads the rows from the report, and parses it only if it has changed */
function makeRowsReader(file: string): () => ReportedCounts {
  let rows = UNKNOWN;
  let lastMtime: number | undefined;
  return () => {
    try {
      const { mtimeMs } = statSync(file);
      if (mtimeMs === lastMtime) return rows;
      const { outcome, tables, takedowns_waiting: waiting } = readReport(file);
      // The rows of a refused run, or of a dry run, were not published.
      const isServed = outcome === 'published' || outcome === 'unchanged';
      rows = {
        read: tables,
        served: isServed ? tables : rows.served,
        takedownsWaiting: waiting ?? (outcome === 'refused' ? undefined : 0),
      };
      lastMtime = mtimeMs;
    } catch {
      // There is none yet, or it cannot be read: the rows are not known.
      lastMtime = undefined;
      rows = UNKNOWN;
    }
    return rows;
  };
}

/** @throws Error if the file cannot be read, or is not a report */
function readReport(file: string) {
  const text = readBoundedFileSync(file, LARGEST_REPORT).toString('utf8');
  const report: Partial<ReportContent & ReportEnd> = JSON.parse(text) ?? {};
  const { tables } = report;
  const counts = Object.values(tables ?? {}).flatMap(({ rows, left_out }) => [rows, left_out]);
  if (tables === undefined || !counts.every(Number.isFinite)) throw new Error('not a report');
  return { ...report, tables };
}
