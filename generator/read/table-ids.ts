/** Collects the ids of a table's rows, which must ascend. */
import type { Value } from '../../database/database.ts';
import { compareIds, type Id } from '../../format/index/ids.ts';
import { type Ids, valueOfId } from '../columns/ids.ts';
import { growingColumns } from '../columns/row-columns.ts';
import type { MakeStoredColumn } from '../columns/stored-column.ts';
import { RowFault } from '../report/row-fault.ts';
import { idOfRow } from '../reuse/plan-read.ts';
import { checkId } from './row-checks.ts';

export function makeIds() {
  const { columns: ids, reserve } = growingColumns({ high: Uint32Array, low: Uint32Array });
  let rows = 0;
  /** Whether an id is higher than that of the last row. */
  const ascends = ([high, low]: Id) =>
    rows === 0 || (high - ids.high[rows - 1] || low - ids.low[rows - 1]) > 0;
  // Memory to which nothing was written takes none, and nearly all upper halves are 0.
  const putHigh = (row: number, half: number) => {
    if (half !== 0) ids.high[row] = half;
  };
  return {
    ids,
    rows: () => rows,
    /** @returns the index of the row */
    add(value: Value): number {
      const id = checkId(value);
      if (!ascends(id)) throw notAscending(id, idOfRow(ids, rows - 1));
      reserve(rows);
      putHigh(rows, id[0]);
      ids.low[rows] = id[1];
      return rows++;
    },
    /**
     * Adds ids that an earlier run has checked: those from `from` (inclusive) to `to` (exclusive).
     * @returns the index of the first row
     */
    addCached({ high, low }: Ids, from: number, to: number): number {
      const first = rows;
      rows += to - from;
      reserve(rows - 1);
      for (let at = from; at < to; at++) putHigh(first + at - from, high[at]);
      ids.low.set(low.subarray(from, to), first);
      return first;
    },
  };
}

/** A database orders an id column of texts by characters, so that 10 comes before 2. */
function notAscending(id: Id, last: Id): RowFault {
  const isTwice = compareIds(id, last) === 0;
  return new RowFault(
    isTwice ? 'the id appears twice' : 'the column id must have a numeric type',
    valueOfId(id),
  );
}

/** As {@link makeIds}, but only the last id is in memory. */
export function makeStoredIds(storeColumn: MakeStoredColumn) {
  const ids = { high: storeColumn('id-high', 'u32'), low: storeColumn('id-low', 'u32') };
  let lastId: Id = [0, 0];
  return {
    ids,
    /** That of the last row; 0 if there is none. */
    lastId: () => lastId,
    add(value: Value): void {
      const id = checkId(value);
      const isFirst = ids.low.length === 0;
      if (!isFirst && compareIds(id, lastId) <= 0) throw notAscending(id, lastId);
      lastId = id;
      ids.high.add(lastId[0]);
      ids.low.add(lastId[1]);
    },
    /** See `addCached` of {@link makeIds}. */
    addCached({ high, low }: Ids, from: number, to: number): void {
      lastId = [high[to - 1], low[to - 1]];
      ids.high.addAll(high.subarray(from, to));
      ids.low.addAll(low.subarray(from, to));
    },
  };
}
