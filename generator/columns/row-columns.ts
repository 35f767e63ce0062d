/**
 * Columns in memory that both threads share: one number for each row of a table, and no object. Rows
 * are indexed in the order of their ids.
 */

type NumberArray = Uint16Array | Uint32Array | Int16Array | Int32Array | Float64Array;
type NumberArrayType<T extends NumberArray> = {
  new (buffer: SharedArrayBuffer): T;
  readonly BYTES_PER_ELEMENT: number;
};

/** A shared array of numbers, all zero. */
export function numbers<T extends NumberArray>(Type: NumberArrayType<T>, rows: number): T {
  return new Type(new SharedArrayBuffer(rows * Type.BYTES_PER_ELEMENT));
}

type ColumnTypes = Readonly<Record<string, NumberArrayType<NumberArray>>>;

/** Columns by name. Growing replaces them: do not keep one while rows are still added. */
export type Columns<Types extends ColumnTypes> = {
  readonly [Name in keyof Types]: InstanceType<Types[Name]>;
};

/** The system provides memory only when it is first written to, so a large start costs small tables nothing. */
const FIRST_ROWS = 1024 * 1024;

/** Columns, all zero, for a number of rows that is not known yet: counting them first would take the database long. */
export function growingColumns<Types extends ColumnTypes>(types: Types) {
  const columns: Record<string, NumberArray> = {};
  for (const [name, Type] of Object.entries(types)) columns[name] = numbers(Type, FIRST_ROWS);
  let rows = FIRST_ROWS;
  return {
    columns: columns as Columns<Types>,
    /** Makes room for a row, whose index is at most one above those before. */
    reserve(row: number): void {
      if (row < rows) return;
      rows *= 2;
      for (const [name, Type] of Object.entries(types)) {
        const larger = numbers(Type, rows);
        larger.set(columns[name]);
        columns[name] = larger;
      }
    },
  };
}
