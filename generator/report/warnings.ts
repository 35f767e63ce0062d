/**
 * Looks for probable mistakes in what is published. The rules would rather miss a mistake than warn about
 * a correct catalogue, since nobody reads a warning that is always there.
 */
import type { HiddenViews } from '../../lib/database/hidden-views.ts';
import { compareIds, splitId } from '../../lib/format/index/ids.ts';
import { valueOfId } from '../rows/ids.ts';
import { encodeTime } from '../rows/times.ts';
import { MOST_LISTED, type Warning } from './report.ts';

/** Clocks differ a little; a time zone makes a difference of at least a quarter of an hour. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** When a cover was approved, in seconds since 1970, and its id. */
export type DatedCover = readonly [seconds: number, id: string];

/** Finds covers that were approved in the future. @param now in seconds since 1970 */
export function findFutureApprovals(covers: Iterable<DatedCover>, now: number): Warning[] {
  const found = [...covers].filter(([time]) => isInFuture(time, now));
  if (found.length === 0) return [];
  const rows = found
    .map(([time, id]) => ({ id: splitId(id) ?? ([0, 0] as const), time }))
    .sort((a, b) => compareIds(a.id, b.id))
    .slice(0, MOST_LISTED)
    .map(({ id, time }) => ({ id: valueOfId(id), value: encodeTime(time) }));
  const reason = 'approved_at is in the future: is it UTC?';
  return [{ table: 'covers', reason, count: found.length, rows }];
}

export function isInFuture(time: number, now: number): boolean {
  return time > now + CLOCK_TOLERANCE_SECONDS;
}

/** Says why each run reads all rows, although `updated_at` would show which of them have changed. */
export function warnOfHiddenViews(hidden: HiddenViews | undefined): Warning[] {
  if (hidden === undefined) return [];
  const { fault, grant } = hidden;
  const reason = `All rows are read: ${fault}, so a new definition would go unnoticed. Run as an administrator: ${grant}`;
  return [{ table: null, reason, count: 1, rows: [] }];
}
