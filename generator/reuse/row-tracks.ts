/**
 * Tracks, for each row of a table that a run reads, when it was changed and whether an earlier run has
 * read the same row. The next run reads the rows again that have no time here.
 */
import { createHash } from 'node:crypto';
import type { Row } from '../../database/database.ts';
import { type TimedTable, UPDATED_AT } from '../../database/schema.ts';
import type { StoredColumn } from '../../format/index/columns.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { LEFT_OUT } from '../columns/catalogue.ts';
import type { GrowingStoredColumn, MakeStoredColumn } from '../columns/stored-column.ts';
import type { ReadPlan, UnsettledRows } from './plan-read.ts';
import { isSettled } from './row-times.ts';

/** The last column to select for {@link RowTrack}, as a text with fractions of a second. */
export const TIME_COLUMN = `${UPDATED_AT} || ''`;

/** How the rows of a run relate to the cached rows of an earlier one. */
export interface Relation {
  readonly rows: number;
  readonly cachedRows: number;
  /** For each row: 1 if it is the same as the cached row, otherwise 0. */
  readonly isSame: Uint8Array;
  /** Undefined if each row with a cached row has the same index; new rows come after these. */
  readonly moved: MovedRows | undefined;
}

interface MovedRows {
  /** For each row, the cached row with the same id, or LEFT_OUT. */
  readonly cachedRow: Uint32Array;
  /** For each cached row, the row of this run with the same id, or LEFT_OUT. */
  readonly rowOfCached: Uint32Array;
}

/** The cached row with the id of a row, or LEFT_OUT. */
export function cachedRowOf({ moved, cachedRows }: Relation, row: number): number {
  if (moved !== undefined) return moved.cachedRow[row];
  return row < cachedRows ? row : LEFT_OUT;
}

/** The row of this run with the id of a cached row, or LEFT_OUT. */
export function rowOfCached({ moved, rows }: Relation, cachedRow: number): number {
  if (moved !== undefined) return moved.rowOfCached[cachedRow];
  return cachedRow < rows ? cachedRow : LEFT_OUT;
}

export interface RowTrack {
  /**
   * Adds a row.
   * @param time NaN if the next run must read the row again
   * @param row undefined for a known row
   */
  add(time: number, cachedRow: number, row: Row | undefined): void;
  /** Adds the known rows from `from` (inclusive) to `to` (exclusive) of the cached ones. */
  addKnown(updated: Float64Array, from: number, to: number): void;
  /** Called instead of adding rows, if all cached rows are known and have the same indexes. */
  keepAll(): void;
  rows(): number;
  /** The rows that the next run must read again; undefined if they are too many. */
  unsettled(): UnsettledRows | undefined;
  /** The time of each row; empty after {@link keepAll}. */
  times(): StoredColumn;
  /** Whether every row is known and at the index of its cached row, and no row was added or removed. */
  isSame(): boolean;
  /** Whether every cached row still exists at its index; new rows may follow. */
  keepsIndexes(): boolean;
  /** Called after all rows. Undefined if all rows were read, or if it is not needed. */
  readonly relation: (() => Relation) | undefined;
}

/**
 * @param now the time of the database before the rows were read
 * @param plan undefined if all rows are read
 * @param times receives the time of each row
 * @param isRelated whether `relation` is needed
 */
function makeRowTrack(
  now: number,
  plan: ReadPlan | undefined,
  times: GrowingStoredColumn,
  isRelated: boolean,
): RowTrack {
  const related = plan && isRelated ? makeRelation(plan) : undefined;
  let rows = 0;
  const unsettled = makeRowsHash();
  const unsettledIds: string[] = [];
  let areKnown = true;
  let areInPlace = true;
  let cachedRows = 0;
  const keepsIndexes = () => areInPlace && cachedRows === plan?.isKnown.length;
  const addUnsettled = (row: Row | undefined) => {
    unsettled.add(row);
    if (row !== undefined && unsettledIds.length < MOST_HASHED) unsettledIds.push(String(row[0]));
  };
  return {
    relation: related && (() => related.end(rows)),
    unsettled() {
      const hash = unsettled.end();
      return hash === undefined ? undefined : { ids: unsettledIds, hash };
    },
    addKnown(updated, from, to) {
      areInPlace &&= from === rows;
      cachedRows += to - from;
      for (let cachedRow = from; cachedRow < to; cachedRow++, rows++) {
        const isUsable = isSettled(updated[cachedRow], now);
        times.add(isUsable ? updated[cachedRow] : Number.NaN);
        // Only if the clock of the database was set back.
        if (!isUsable) {
          addUnsettled(undefined);
          areKnown = false;
        }
        related?.add(rows, cachedRow, true);
      }
    },
    add(time, cachedRow, row) {
      areKnown = false;
      if (cachedRow !== LEFT_OUT) {
        areInPlace &&= cachedRow === rows;
        cachedRows++;
      }
      const isUsable = isSettled(time, now);
      times.add(isUsable ? time : Number.NaN);
      if (!isUsable) addUnsettled(row);
      related?.add(rows, cachedRow, row === undefined);
      rows++;
    },
    keepAll() {
      if (rows > 0 || plan === undefined) throw new Error('only cached rows can be kept');
      rows = plan.isKnown.length;
      cachedRows = rows;
      related?.keepAll();
    },
    rows: () => rows,
    times: () => times,
    isSame: () => areKnown && keepsIndexes() && rows === cachedRows,
    keepsIndexes,
  };
}

/** Most runs move no row, and then need no columns for the indexes: 8 bytes for each row. */
function makeRelation({ isKnown, fresh }: ReadPlan) {
  const cachedRows = isKnown.length;
  const rowsAtMost = cachedRows + fresh.length;
  const isSame = sharedZeros(Uint8Array, rowsAtMost);
  let moved: MovedRows | undefined;

  /** Begins to note the indexes. So far, each of these rows has that of its cached row. */
  function startMoving(rows: number): MovedRows {
    const cachedRow = sharedZeros(Uint32Array, rowsAtMost).fill(LEFT_OUT);
    const rowOfCached = sharedZeros(Uint32Array, cachedRows).fill(LEFT_OUT);
    for (let row = 0; row < rows; row++) {
      cachedRow[row] = row;
      rowOfCached[row] = row;
    }
    return { cachedRow, rowOfCached };
  }

  return {
    /** @param cachedRow LEFT_OUT for a new row */
    add(row: number, cachedRow: number, isSameRow: boolean): void {
      if (isSameRow) isSame[row] = 1;
      const isInPlace = cachedRow === row || (cachedRow === LEFT_OUT && row >= cachedRows);
      if (!isInPlace) moved ??= startMoving(row);
      if (moved === undefined || cachedRow === LEFT_OUT) return;
      moved.cachedRow[row] = cachedRow;
      moved.rowOfCached[cachedRow] = row;
    },
    /** Called instead of adding rows, if all cached rows are the same. */
    keepAll(): void {
      isSame.fill(1);
    },
    end: (rows: number): Relation => ({ rows, cachedRows, isSame, moved }),
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
export interface ChangeTracking {
  /** Seconds since 1970, by the clock of the database. */
  readonly now: number;
  /** Undefined if all rows are read. */
  readonly plans: Readonly<Record<TimedTable, ReadPlan>> | undefined;
  readonly tracks: Readonly<Record<TimedTable, RowTrack>>;
}

/** @param storeColumn creates the columns for the row cache */
export function makeChangeTracking(
  now: number,
  plans: ChangeTracking['plans'],
  storeColumn: MakeStoredColumn,
): ChangeTracking {
  const timesOf = (table: TimedTable) => storeColumn(`${table}-time`, 'f64');
  const tracks = {
    games: makeRowTrack(now, plans?.games, timesOf('games'), true),
    covers: makeRowTrack(now, plans?.covers, timesOf('covers'), true),
    // No table refers to files.
    cover_files: makeRowTrack(now, plans?.cover_files, timesOf('cover_files'), false),
  };
  return { now, plans, tracks };
}
