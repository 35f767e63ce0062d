/** A catalogue as rows, and how it gets into a database: first the tables, then the rows in batches. */

import { ACCOUNTS_TABLE, KEYS_TABLES } from '../../keys/tables/schema.ts';
import type { Database, Row, Value } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { CATALOGUE_TABLES, OPTIONAL_TABLES } from '../../lib/database/schema.ts';
import { columnNames, createTables, type Tables } from '../../lib/database/tables.ts';

/** Rows in the order of the tables' columns (lib/database/schema.ts, keys/tables/schema.ts); each list can be read repeatedly. */
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

/** The lists of a catalogue by their tables. */
const LISTS = {
  platforms: 'platforms',
  games: 'games',
  covers: 'covers',
  cover_files: 'coverFiles',
  accounts: 'accounts',
  game_titles: 'gameTitles',
  game_ids: 'gameIds',
  platform_ids: 'platformIds',
} as const;
const TABLES: Tables = { ...CATALOGUE_TABLES, ...ACCOUNTS_TABLE, ...OPTIONAL_TABLES };
const ROWS_PER_INSERT = 400;

/** Loads a catalogue into the database of an address, and creates a missing SQLite file. */
export async function fillDatabase(url: string, catalogue: Catalogue): Promise<void> {
  const database = await openDatabase(url, { create: true });
  await loadCatalogue(database, catalogue).finally(database.close);
}

/** Creates the missing tables and inserts every row, in one transaction. */
export async function loadCatalogue(database: Database, catalogue: Catalogue): Promise<void> {
  const lists = Object.entries(LISTS).flatMap(([table, name]) => {
    const rows = catalogue[name];
    return rows === undefined ? [] : [{ table, rows, columns: columnNames(TABLES[table]) }];
  });
  const used = Object.fromEntries(lists.map(({ table }) => [table, TABLES[table]]));
  await createTables(database, { ...used, ...KEYS_TABLES });
  await database.transaction(async ({ run }) => {
    // The ids are not in order. With a smaller cache, every insert would read a page from disk.
    if (database.kind === 'sqlite') await run('PRAGMA cache_size = -300000');
    for (const { table, rows, columns } of lists) {
      const one = `(${columns.map(() => '?').join(',')})`;
      let values: Value[] = [];
      const insert = async () => {
        const all = Array(values.length / columns.length)
          .fill(one)
          .join(',');
        await run(`INSERT INTO ${table} (${columns.join(',')}) VALUES ${all}`, values);
        values = [];
      };
      for (const row of rows) {
        if (row.length > columns.length) {
          throw new Error(`A row of ${table} has ${row.length} values, not ${columns.length}.`);
        }
        // A row that ends early has null in its last columns, so a new column leaves older rows as they are.
        for (let at = 0; at < columns.length; at++) values.push(row[at] ?? null);
        if (values.length === ROWS_PER_INSERT * columns.length) await insert();
      }
      if (values.length > 0) await insert();
    }
  });
}
