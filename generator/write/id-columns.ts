/**
 * The columns of an index that find a record by its id.
 */
import type { IdColumns } from '../../format/index/ids.ts';
import type { Ids } from '../columns/ids.ts';

/**
 * @param rows the rows of the published records, in the order of their ids
 * @param numberOf for each row, the number of its record
 */
export function idColumns(ids: Ids, rows: Uint32Array, numberOf: Uint32Array): IdColumns {
  return {
    idHigh: rows.some((row) => ids.high[row] !== 0)
      ? rows.map((row) => ids.high[row])
      : new Uint32Array(0),
    idLow: rows.map((row) => ids.low[row]),
    numberOfId: rows.map((row) => numberOf[row]),
  };
}
