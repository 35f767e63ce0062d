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

/** Costs nothing for small tables, since the system provides memory only when it is first written to. */
const FIRST_ROWS = 1024 * 1024;

/**
 * Makes columns of zeros for a table whose number of rows is not known: counting the rows would take the
 * database too long.
 */
export function growingColumns<Types extends ColumnTypes>(types: Types) {
  const columns: Record<string, NumberArray> = {};
  for (const [name, Type] of Object.entries(types)) columns[name] = sharedZeros(Type, FIRST_ROWS);
  let rows = FIRST_ROWS;
  return {
    columns: columns as Columns<Types>,
    /** Makes room for a row. Its index is at most one above the highest one so far. */
    reserve(row: number): void {
      if (row < rows) return;
      rows *= 2;
      for (const [name, Type] of Object.entries(types)) {
        const larger = sharedZeros(Type, rows);
        larger.set(columns[name]);
        columns[name] = larger;
      }
    },
  };
}
