/** Columns of index files as the tests make them and break them. */
import { type Column, encodeColumns } from '../../../format/index/columns.ts';

export type NamedColumns = Record<string, Column>;

export function encodeFile(columns: NamedColumns): Uint8Array {
  return new Uint8Array(Buffer.concat([...encodeColumns(columns)]));
}

/** Where texts of these lengths start, one behind another; one entry more than lengths. */
export function startsOf(lengths: readonly number[]): Uint32Array {
  const starts = new Uint32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) starts[i + 1] = starts[i] + length;
  return starts;
}

/** Each column in turn an entry longer, an entry shorter, and missing; none of them may be empty. */
export function* wrongColumns(columns: NamedColumns): Generator<[fault: string, NamedColumns]> {
  for (const [name, values] of Object.entries(columns)) {
    const longer = new (values.constructor as Uint8ArrayConstructor)(values.length + 1);
    longer.set(values as Uint8Array);
    yield [`${name} longer`, { ...columns, [name]: longer }];
    yield [`${name} shorter`, { ...columns, [name]: values.slice(0, -1) }];
    const { [name]: _, ...others } = columns;
    yield [`${name} missing`, others];
  }
}

/** Adds to an entry of a column. */
export function add(column: Column | undefined, at: number, value: number): void {
  if (column?.[at] === undefined) throw new Error('There is no such entry.');
  column[at] += value;
}

/** Exchanges two entries of a column. */
export function swap(column: Column | undefined, at: number, other: number): void {
  if (column === undefined) throw new Error('There is no such column.');
  [column[at], column[other]] = [column[other], column[at]];
}
