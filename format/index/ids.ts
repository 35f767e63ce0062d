/**
 * Ids of records: unsigned 64-bit integers in columns, and the look-up of a record by its id.
 */
import { firstIndex } from './first-index.ts';

/** An id as its upper and lower 32 bits. */
export type Id = readonly [high: number, low: number];

/** The ids of all games, or of all covers, in ascending order. */
export interface IdColumns {
  /** The upper 32 bits of the ids; no entries if they are 0 in all of them. */
  readonly idHigh: Uint32Array;
  readonly idLow: Uint32Array;
  /** For each of these ids, the number of the record. */
  readonly numberOfId: Uint32Array;
}

/** The id at a position of the columns. */
export function idAt({ idHigh, idLow }: IdColumns, position: number): Id {
  return [idHigh[position] ?? 0, idLow[position]];
}

/** Negative, zero or positive: compares two ids. */
export function compareIds(a: Id, b: Id): number {
  return a[0] - b[0] || a[1] - b[1];
}

/**
 * Finds the record with an id.
 * @returns the number of the record, or undefined
 */
export function findById(
  { idHigh, idLow, numberOfId }: IdColumns,
  [high, low]: Id,
): number | undefined {
  const orderAt = (position: number) =>
    (idHigh.length === 0 ? 0 : idHigh[position]) - high || idLow[position] - low;
  const position = firstIndex(0, numberOfId.length, (middle) => orderAt(middle) >= 0);
  const isFound = position < numberOfId.length && orderAt(position) === 0;
  return isFound ? numberOfId[position] : undefined;
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
