/** Writes the report of a run to the snapshots folder. */
import path from 'node:path';
import { REPORT } from '../../format/layout.ts';
import type { Progress } from '../../program/progress.ts';
import { utcNow } from '../../program/utc-now.ts';
import { replaceFile } from '../../store/files/replace-file.ts';
import { encodeReport, type ReportContent, type RunEnd } from './report.ts';

/**
 * Writes the report of a run to the snapshots folder. If that fails, it warns instead of throwing an
 * error, which would hide how the run ended.
 * @returns whether the report was written
 */
export function saveReport(
  snapshotsDir: string,
  content: ReportContent,
  outcome: RunEnd['outcome'],
  error: string | null,
  takedownsWaiting: number | null,
  progress: Progress,
): boolean {
  try {
    // Only the owner may read the report: a row that was left out may hold values that are not public.
    const bytes = encodeReport(content, {
      finished_at: utcNow(),
      outcome,
      error,
      takedowns_waiting: takedownsWaiting,
    });
    replaceFile(path.join(snapshotsDir, REPORT), bytes, 0o600);
    return true;
  } catch (cause) {
    progress.warn(`The report of this run could not be written: ${(cause as Error).message}`);
    return false;
  }
}
