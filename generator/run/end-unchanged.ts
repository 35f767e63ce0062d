/** Ends a run that has found no change since an earlier run. */
import type { Progress } from '../../program/progress.ts';
import { readPrevious } from '../../store/publish.ts';
import { findFutureApprovals } from '../read/warnings.ts';
import { summaryOf, warningText } from '../report/report.ts';
import { saveReport } from '../report/save-report.ts';
import type { ReadMode, Run, RunResult } from './run.ts';

/** Its report is that of the earlier run, with the warnings of today. */
export function endUnchanged(
  { snapshotsDir, warnings }: Run,
  progress: Progress,
  { earlier }: ReadMode,
): RunResult {
  const { id, manifest } = readPrevious(snapshotsDir);
  if (earlier === undefined || manifest === undefined) {
    throw new Error('the current generation cannot be read');
  }
  const now = Date.now();
  const future =
    earlier.latestApproval > now ? findFutureApprovals(earlier.rows().covers, now / 1000) : [];
  const report = {
    ...earlier.report,
    warnings: [...earlier.report.warnings, ...future, ...warnings],
  };
  const leftOut = summaryOf(report);
  for (const line of leftOut) progress.warn(`Left out: ${line}.`);
  for (const warning of report.warnings) progress.warn(`Warning: ${warningText(warning)}.`);
  saveReport(snapshotsDir, report, 'unchanged', null, null, progress);
  const { counts } = manifest;
  return {
    outcome: 'unchanged',
    id,
    counts,
    previousCounts: counts,
    leftOut,
    report,
    readAllBecause: null,
  };
}
