/** Makes columns of index files for the tests, and damages them. */
import {
  type Columns,
  encodeColumns,
  type StoredColumn,
  viewColumns,
} from '#lib/columns/container.ts';

import { FORMAT_VERSION } from '#lib/format/layout.ts';

export type NamedColumns = Record<string, StoredColumn>;

export function encodeFile(content: object): Uint8Array {
  return new Uint8Array(Buffer.concat([...encodeColumns(content, FORMAT_VERSION)]));
}

/** The columns of a file with this content, those of groups by their names with a dot. */
export function columnsOf(content: object): Columns {
  return viewColumns(encodeFile(content), 'columns', FORMAT_VERSION);
}

/** The starts of texts with these lengths, one behind another, and the end of the last text. */
export function startsOf(lengths: readonly number[]): Uint32Array {
  const starts = new Uint32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) starts[i + 1] = starts[i] + length;
  return starts;
}

/** Makes each column in turn one entry longer, one entry shorter, and missing. No column may be empty. */
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
export function add(column: StoredColumn | undefined, at: number, value: number): void {
  if (column?.[at] === undefined) throw new Error('There is no such entry.');
  column[at] += value;
}

/** Exchanges two entries of a column. */
export function swap(column: StoredColumn | undefined, at: number, other: number): void {
  if (column === undefined) throw new Error('There is no such column.');
  [column[at], column[other]] = [column[other], column[at]];
}
