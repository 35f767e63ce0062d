/**
 * Tracks, for each row of a table that a run reads, when it was changed and whether an earlier run has
 * read the same row. The next run reads the rows again that have no time here.
 */
import { createHash } from 'node:crypto';
import type { Row } from '../../database/database.ts';
import { type TimedTable, UPDATED_AT } from '../../database/schema.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { LEFT_OUT } from '../columns/catalogue.ts';
import { growingColumns } from '../columns/row-columns.ts';
import type { ReadPlan } from './plan-read.ts';
import { isSettled } from './row-times.ts';

/** The last column to select for {@link RowTrack}, as a text with fractions of a second. */
export const TIME_COLUMN = `${UPDATED_AT} || ''`;

/** How the rows of a run relate to the cached rows of an earlier one. */
export interface Relation {
  /** For each row, the cached row with the same id, or LEFT_OUT. */
  readonly cachedRow: Uint32Array;
  /** For each row: 1 if it is the same as the cached row, otherwise 0. */
  readonly isKnown: Uint8Array;
  /** For each cached row, the row of this run with the same id, or LEFT_OUT. */
  readonly rowOfCached: Uint32Array;
}

export interface RowTrack {
  /**
   * Adds a row.
   * @param time NaN if the next run must read the row again
   * @param row undefined for a known row
   */
  add(time: number, cachedRow: number, row: Row | undefined): void;
  /**
   * The hash of the rows that the next run must read again; undefined if they are too many. By it, the next
   * run finds out whether they are still the same.
   */
  hashOfUnsettled(): string | undefined;
  /** The time of each row. */
  times(): Float64Array;
  /** Undefined if all rows were read. */
  readonly relation: Relation | undefined;
}

/**
 * @param now the time of the database before the rows were read
 * @param plan undefined if all rows are read
 */
export function makeRowTrack(now: number, plan: ReadPlan | undefined): RowTrack {
  const { columns, reserve } = growingColumns({ time: Float64Array });
  const rowsAtMost = plan === undefined ? 0 : plan.cached.rows + plan.fresh.length;
  const relation = plan && {
    cachedRow: sharedZeros(Uint32Array, rowsAtMost).fill(LEFT_OUT),
    isKnown: sharedZeros(Uint8Array, rowsAtMost),
    rowOfCached: sharedZeros(Uint32Array, plan.cached.rows).fill(LEFT_OUT),
  };
  let rows = 0;
  const unsettled = makeRowsHash();
  return {
    relation,
    hashOfUnsettled: unsettled.end,
    add(time, cachedRow, row) {
      reserve(rows);
      const isUsable = isSettled(time, now);
      columns.time[rows] = isUsable ? time : Number.NaN;
      if (!isUsable) unsettled.add(row);
      if (relation !== undefined && cachedRow !== LEFT_OUT) {
        relation.cachedRow[rows] = cachedRow;
        relation.isKnown[rows] = row === undefined ? 1 : 0;
        relation.rowOfCached[cachedRow] = rows;
      }
      rows++;
    },
    times: () => columns.time.subarray(0, rows),
  };
}

const MOST_HASHED = 10_000;

/** Hashes rows, unless they are too many. */
export function makeRowsHash() {
  const sha256 = createHash('sha256');
  let count = 0;
  return {
    /** @param row undefined if its values are not known, so that there is no hash */
    add(row: Row | undefined): void {
      count = row === undefined ? MOST_HASHED : count + 1;
      if (row !== undefined && count < MOST_HASHED) sha256.update(`${JSON.stringify(row)}\n`);
    },
    end: () => (count < MOST_HASHED ? sha256.copy().digest('hex') : undefined),
  };
}

/** What a run needs to know which rows have changed: undefined if the database cannot show it. */
export interface Timed {
  readonly now: number;
  /** Undefined if all rows are read. */
  readonly plans: Readonly<Record<TimedTable, ReadPlan>> | undefined;
  readonly tracks: Readonly<Record<TimedTable, RowTrack>>;
}

export function makeTimed(now: number, plans: Timed['plans']): Timed {
  const track = (table: TimedTable) => makeRowTrack(now, plans?.[table]);
  const tracks = {
    games: track('games'),
    covers: track('covers'),
    cover_files: track('cover_files'),
  };
  return { now, plans, tracks };
}
