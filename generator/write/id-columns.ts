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
  const idHigh = rows.map((row) => ids.high[row]);
  return {
    idHigh: idHigh.some((half) => half !== 0) ? idHigh : new Uint32Array(0),
    idLow: rows.map((row) => ids.low[row]),
    numberOfId: rows.map((row) => numberOf[row]),
  };
}
