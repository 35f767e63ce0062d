/** Puts a catalogue into an empty database: tables first, then rows by the hundred. */
import type { Database, Row, Value } from '../../database/database.ts';
import { columnNames, createTables, type TableName } from '../../database/schema.ts';
import type { Catalogue } from './catalogue.ts';

const ROWS_PER_INSERT = 400;

/** Makes the tables that are absent and inserts every row, all in one transaction. */
export async function loadCatalogue(database: Database, catalogue: Catalogue): Promise<void> {
  await createTables(database);
  const tables: [TableName, Iterable<Row>][] = [
    ['platforms', catalogue.platforms],
    ['games', catalogue.games],
    ['covers', catalogue.covers],
    ['cover_files', catalogue.coverFiles],
    ['accounts', catalogue.accounts],
  ];
  await database.transaction(async ({ run }) => {
    // The ids come in no order; without room for the whole tree every insert reads a page.
    if (database.kind === 'sqlite') await run('PRAGMA cache_size = -300000');
    for (const [table, rows] of tables) {
      const columns = columnNames(table);
      const one = `(${columns.map(() => '?').join(',')})`;
      const statement = (count: number) =>
        `INSERT INTO ${table} (${columns.join(',')}) VALUES ${Array(count).fill(one).join(',')}`;
      const full = statement(ROWS_PER_INSERT);
      let values: Value[] = [];
      let count = 0;
      for (const row of rows) {
        if (row.length !== columns.length) {
          throw new Error(`A row of ${table} has ${row.length} values, not ${columns.length}.`);
        }
        for (const value of row) values.push(value);
        if (++count < ROWS_PER_INSERT) continue;
        await run(full, values);
        values = [];
        count = 0;
      }
      if (count > 0) await run(statement(count), values);
    }
  });
}
