/**
 * Ids of records: unsigned 64-bit integers in columns, and the look-up of a record by its id.
 */
import { firstIndex } from '../../columns/arrays.ts';
import type { ColumnReader } from '../../columns/container.ts';
import { type Lookup, lookupOf } from '../../columns/numbers.ts';

/** An id as its upper and lower 32 bits. */
export type Id = readonly [high: number, low: number];

/** The ids of all games, or of all covers, in ascending order. */
export interface IdColumns<N extends number = number> {
  /** The upper 32 bits of the ids; no entries if they are 0 in all of them. */
  readonly idHigh: Uint32Array;
  readonly idLow: Uint32Array;
  /** For each of these ids, the number of the record. */
  readonly numberOfId: Lookup<number, N>;
}

export function idColumns<N extends number>(column: ColumnReader, records: number): IdColumns<N> {
  const idHigh = column('idHigh', 'u32');
  return {
    idHigh: idHigh.length === 0 ? idHigh : column('idHigh', 'u32', records),
    idLow: column('idLow', 'u32', records),
    numberOfId: lookupOf(column('numberOfId', 'u32', records)),
  };
}

/** The id at a position of the columns. */
export function idAt({ idHigh, idLow }: IdColumns, position: number): Id {
  return [idHigh.length === 0 ? 0 : idHigh[position], idLow[position]];
}

/** Negative, zero or positive: compares two ids. */
export function compareIds(a: Id, b: Id): number {
  return a[0] - b[0] || a[1] - b[1];
}

/** As {@link compareIds}, for ids at positions of columns. It allocates nothing. */
export function compareIdsAt(a: IdColumns, at: number, b: IdColumns, atB: number): number {
  const high = a.idHigh.length === 0 ? 0 : a.idHigh[at];
  const highB = b.idHigh.length === 0 ? 0 : b.idHigh[atB];
  return high - highB || a.idLow[at] - b.idLow[atB];
}

/** The number of the record that has an id; undefined if there is none. */
export function findById<N extends number>(columns: IdColumns<N>, id: Id): N | undefined {
  const { numberOfId } = columns;
  const at = firstIndex(0, numberOfId.length, (index) => compareIds(idAt(columns, index), id) >= 0);
  const isFound = at < numberOfId.length && compareIds(idAt(columns, at), id) === 0;
  return isFound ? numberOfId[at] : undefined;
}

/** The position that an id would have among `count` evenly spaced ids; approximate beyond 2^53. */
export function evenlySpaced(first: Id, last: Id, count: number, id: Id): number {
  const asNumber = ([high, low]: Id) => high * 2 ** 32 + low;
  const share = (asNumber(id) - asNumber(first)) / (asNumber(last) - asNumber(first));
  // NaN if all ids are equal.
  return Math.round(Math.min(Math.max(share || 0, 0), 1) * (count - 1));
}

/** An id in decimal digits, the reverse of {@link splitId}. */
export function textOfId([high, low]: Id): string {
  if (high < 2 ** 21) return String(high * 2 ** 32 + low);
  return String((BigInt(high) << 32n) | BigInt(low));
}

const ID = /^(?:0|[1-9]\d{0,19})$/;

/**
 * Splits an unsigned 64-bit integer into its upper and lower 32 bits.
 * @param id decimal digits without leading zeros
 * @returns undefined for anything else
 */
export function splitId(id: string): Id | undefined {
  if (!ID.test(id)) return undefined;
  if (id.length <= 15) {
    const number = Number(id);
    return [Math.floor(number / 2 ** 32), number >>> 0];
  }
  const exact = BigInt(id);
  if (exact >= 2n ** 64n) return undefined;
  return [Number(exact >> 32n), Number(exact & 0xffff_ffffn)];
}
