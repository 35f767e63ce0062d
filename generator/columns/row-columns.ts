/**
 * Columns in memory that both threads share. A column holds one number for each row of a table, so that
 * rows need no objects. Rows are in the order of their ids.
 */
import {
  type NumberArray,
  type NumberArrayType,
  sharedZeros,
} from '../../format/index/shared-zeros.ts';

type ColumnTypes = Readonly<Record<string, NumberArrayType<NumberArray>>>;

/** Columns by name. Growing replaces a column: do not keep a reference to one while rows are added. */
export type Columns<Types extends ColumnTypes> = {
  readonly [Name in keyof Types]: InstanceType<Types[Name]>;
};

const FIRST_ROWS = 64 * 1024;
/**
 * A column reserves addresses for this many rows. It grows into them without being copied: V8 would free
 * the smaller column late, because it does not count memory that threads share.
 */
const RESERVED_ROWS = 16 * 1024 * 1024;

/**
 * Makes columns of zeros for a table whose number of rows is not known: counting the rows would take the
 * database too long.
 */
export function growingColumns<Types extends ColumnTypes>(types: Types) {
  const columns: Record<string, NumberArray> = {};
  let rows = FIRST_ROWS;
  for (const [name, Type] of Object.entries(types)) {
    const bytes = Type.BYTES_PER_ELEMENT;
    const memory = new SharedArrayBuffer(rows * bytes, { maxByteLength: RESERVED_ROWS * bytes });
    columns[name] = new Type(memory, 0, rows);
  }

  /** The same column with room for all `rows`. */
  function grown(column: NumberArray, Type: NumberArrayType<NumberArray>): NumberArray {
    const memory = column.buffer as SharedArrayBuffer;
    if (rows <= RESERVED_ROWS) {
      memory.grow(rows * Type.BYTES_PER_ELEMENT);
      return new Type(memory, 0, rows);
    }
    const larger = sharedZeros(Type, rows);
    larger.set(column);
    return larger;
  }

  return {
    columns: columns as Columns<Types>,
    /** Makes room for all rows up to this one. */
    reserve(row: number): void {
      if (row < rows) return;
      while (row >= rows) rows *= 2;
      for (const [name, Type] of Object.entries(types)) columns[name] = grown(columns[name], Type);
    },
  };
}
