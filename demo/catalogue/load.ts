/** A catalogue as rows, and how it gets into a database: first the tables, then the rows in batches. */
import type { Database, Row, Value } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { CATALOGUE_TABLES, OPTIONAL_TABLES, type OptionalTable } from '../../database/schema.ts';
import { columnNames, createTables } from '../../database/tables.ts';
import { ACCOUNTS_TABLE, KEYS_TABLES } from '../../keys/tables/schema.ts';

/** Rows in the order of the tables' columns (database/schema.ts, keys/tables/schema.ts); each list can be read repeatedly. */
export interface Catalogue {
  readonly platforms: Iterable<Row>;
  readonly games: Iterable<Row>;
  readonly covers: Iterable<Row>;
  readonly coverFiles: Iterable<Row>;
  /** Without these lists, the database does not have their tables. */
  readonly gameTitles?: Iterable<Row>;
  readonly gameIds?: Iterable<Row>;
  readonly platformIds?: Iterable<Row>;
  readonly accounts: Iterable<Row>;
}

const REQUIRED_TABLES = { ...CATALOGUE_TABLES, ...ACCOUNTS_TABLE };
const TABLES = { ...REQUIRED_TABLES, ...OPTIONAL_TABLES };
const ROWS_PER_INSERT = 400;

/** Loads a catalogue into the database of an address, and creates a missing SQLite file. */
export async function fillDatabase(url: string, catalogue: Catalogue): Promise<void> {
  const database = await openDatabase(url, { create: true });
  await loadCatalogue(database, catalogue).finally(database.close);
}

/** Creates the missing tables and inserts every row, in one transaction. */
export async function loadCatalogue(database: Database, catalogue: Catalogue): Promise<void> {
  await createTables(database, { ...REQUIRED_TABLES, ...KEYS_TABLES });
  const tables: [keyof typeof TABLES, Iterable<Row>][] = [
    ['platforms', catalogue.platforms],
    ['games', catalogue.games],
    ['covers', catalogue.covers],
    ['cover_files', catalogue.coverFiles],
    ['accounts', catalogue.accounts],
  ];
  const optional = {
    game_titles: catalogue.gameTitles,
    game_ids: catalogue.gameIds,
    platform_ids: catalogue.platformIds,
  };
  for (const [name, rows] of Object.entries(optional)) {
    const table = name as OptionalTable;
    if (rows === undefined) continue;
    await createTables(database, { [table]: OPTIONAL_TABLES[table] });
    tables.push([table, rows]);
  }
  await database.transaction(async ({ run }) => {
    // The ids are not in order. With a smaller cache, every insert would read a page from disk.
    if (database.kind === 'sqlite') await run('PRAGMA cache_size = -300000');
    for (const [table, rows] of tables) {
      const columns = columnNames(TABLES[table]);
      const one = `(${columns.map(() => '?').join(',')})`;
      const statement = (count: number) =>
        `INSERT INTO ${table} (${columns.join(',')}) VALUES ${Array(count).fill(one).join(',')}`;
      const full = statement(ROWS_PER_INSERT);
      let values: Value[] = [];
      let count = 0;
      for (const row of rows) {
        if (row.length > columns.length) {
          throw new Error(`A row of ${table} has ${row.length} values, not ${columns.length}.`);
        }
        // A row that ends early has null in its last columns, so a new column leaves older rows as they are.
        for (let at = 0; at < columns.length; at++) values.push(row[at] ?? null);
        if (++count < ROWS_PER_INSERT) continue;
        await run(full, values);
        values = [];
        count = 0;
      }
      if (count > 0) await run(statement(count), values);
    }
  });
}
