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

/** A database may lack this table. It has other titles by which people search a game, such as "FF7". */
export const GAME_TITLES_TABLE = {
  game_titles: {
    columns: {
      game_id: 'BIGINT UNSIGNED NOT NULL',
      title: 'VARCHAR(500) NOT NULL',
    },
    unique: ['game_id, title'],
  },
} as const satisfies Tables;

/**
 * Checks the tables of the catalogue; `game_titles` is checked if it exists.
 * @returns whether `game_titles` exists
 * @throws Error like {@link checkTables}
 */
export async function checkCatalogue(database: Database): Promise<{ hasGameTitles: boolean }> {
  const hasGameTitles = (await database.columns()).has('game_titles');
  const tables = hasGameTitles ? { ...CATALOGUE_TABLES, ...GAME_TITLES_TABLE } : CATALOGUE_TABLES;
  await checkTables(database, tables);
  return { hasGameTitles };
}
