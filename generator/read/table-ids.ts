/** Collects the ids of a table's rows, which must ascend. */
import type { Value } from '../../database/database.ts';
import { compareIds, type Id } from '../../format/index/ids.ts';
import { type Ids, valueOfId } from '../columns/ids.ts';
import { growingColumns } from '../columns/row-columns.ts';
import { RowFault } from '../report/row-fault.ts';
import { checkId } from './row-checks.ts';

export function makeIds() {
  const { columns: ids, reserve } = growingColumns({ high: Uint32Array, low: Uint32Array });
  const checkAscends = ascendingIds();
  let rows = 0;
  const push = (high: number, low: number): number => {
    reserve(rows);
    ids.high[rows] = high;
    ids.low[rows] = low;
    return rows++;
  };
  return {
    ids,
    rows: () => rows,
    /** @returns the index of the row */
    add(value: Value): number {
      const id = checkId(value);
      checkAscends(id);
      return push(id[0], id[1]);
    },
    /** Adds an id that an earlier run has checked. @returns the index of the row */
    addCached: ({ high, low }: Ids, cachedRow: number): number =>
      push(high[cachedRow], low[cachedRow]),
  };
}

/** @returns a function that throws a RowFault for an id that is not higher than the previous one */
export function ascendingIds(): (id: Id) => void {
  let last: Id = [-1, 0];
  return (id) => {
    if (compareIds(id, last) <= 0) throw new RowFault('the id stands twice', valueOfId(id));
    last = id;
  };
}
