/**
 * The tables of the catalogue, from which the generator makes a generation. A database must have those
 * of {@link CATALOGUE_TABLES}, as tables or as views. The generator only reads them; the demo and the
 * tests create them. Times are in UTC.
 */
import type { Database } from './database.ts';
import { checkTables, type Tables } from './tables.ts';

export const CATALOGUE_TABLES = {
  platforms: {
    columns: {
      id: 'INT UNSIGNED PRIMARY KEY',
      slug: 'VARCHAR(191) NOT NULL',
      name: 'VARCHAR(255) NOT NULL',
    },
    unique: ['slug'],
  },
  games: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      platform_id: 'INT UNSIGNED NOT NULL',
      slug: 'VARCHAR(191) NOT NULL',
      title: 'VARCHAR(500) NOT NULL',
      release_year: 'SMALLINT NULL',
      description: 'TEXT NULL',
      genres: 'VARCHAR(1000) NULL',
      developer: 'TEXT NULL',
      publisher: 'TEXT NULL',
    },
    unique: ['platform_id, slug'],
  },
  covers: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      game_id: 'BIGINT UNSIGNED NOT NULL',
      region: 'VARCHAR(64) NULL',
      type: 'VARCHAR(64) NULL',
      // approved, pending or rejected; only approved covers are published.
      status: 'VARCHAR(16) NOT NULL',
      approved_at: 'DATETIME NULL',
    },
    keys: ['game_id', 'status, approved_at'],
  },
  cover_files: {
    columns: {
      id: 'BIGINT UNSIGNED PRIMARY KEY',
      cover_id: 'BIGINT UNSIGNED NOT NULL',
      variant: 'VARCHAR(32) NULL',
      mime_type: 'VARCHAR(64) NULL',
      width: 'INT UNSIGNED NULL',
      height: 'INT UNSIGNED NULL',
      size_bytes: 'BIGINT UNSIGNED NULL',
      // Relative to FILES_URL, or an http or https address.
      path: 'VARCHAR(1000) NOT NULL',
    },
    keys: ['cover_id'],
  },
} as const satisfies Tables;

const OTHER_ID = { source: 'VARCHAR(32) NOT NULL', value: 'VARCHAR(191) NOT NULL' } as const;

/**
 * A database may lack these tables: alternative titles of games, such as "FF7", and ids that other sources have
 * given to games and platforms, such as `serial` SLUS-20851 or `igdb` 1022.
 */
export const OPTIONAL_TABLES = {
  game_titles: {
    columns: { game_id: 'BIGINT UNSIGNED NOT NULL', title: 'VARCHAR(500) NOT NULL' },
    unique: ['game_id, title'],
  },
  game_ids: {
    columns: { game_id: 'BIGINT UNSIGNED NOT NULL', ...OTHER_ID },
    unique: ['game_id, source, value'],
  },
  platform_ids: {
    columns: { platform_id: 'INT UNSIGNED NOT NULL', ...OTHER_ID },
    unique: ['platform_id, source, value'],
  },
} as const satisfies Tables;
export type OptionalTable = keyof typeof OPTIONAL_TABLES;

/**
 * The tables in which the optional column `updated_at` shows which rows have changed. The others are
 * small, and always read as a whole.
 */
export const TIMED_TABLES = ['games', 'covers', 'cover_files'] as const;
export type TimedTable = (typeof TIMED_TABLES)[number];

/** The column that holds when a row was last changed, in UTC. The database or the site sets it. */
export const UPDATED_AT = 'updated_at';

/** What a database has beyond the tables and columns that it must have. */
export interface OptionalSchema {
  readonly optionalTables: readonly OptionalTable[];
  /** Those of {@link TIMED_TABLES} that do not have it. */
  readonly withoutUpdatedAt: readonly TimedTable[];
}

/**
 * Checks the tables of the catalogue; each of {@link OPTIONAL_TABLES} is checked if it exists.
 * @throws Error like {@link checkTables}
 */
export async function checkCatalogue(database: Database): Promise<OptionalSchema> {
  const found = await database.columns();
  const names = Object.keys(OPTIONAL_TABLES) as OptionalTable[];
  const optionalTables = names.filter((table) => found.has(table));
  const optional = Object.fromEntries(
    optionalTables.map((table) => [table, OPTIONAL_TABLES[table]]),
  );
  await checkTables(database, { ...CATALOGUE_TABLES, ...optional });
  const withoutUpdatedAt = TIMED_TABLES.filter((table) => !found.get(table)?.has(UPDATED_AT));
  return { optionalTables, withoutUpdatedAt };
}
