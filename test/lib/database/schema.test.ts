/** The tables of the catalogue: what is missing is named, views do as well, and some tables are optional. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CATALOGUE_TABLES, checkCatalogue, OPTIONAL_TABLES } from '#lib/database/schema.ts';
import { checkTables, createTables } from '#lib/database/tables.ts';
import { KINDS, makeDatabase } from '#test/support/databases.ts';

describe.each(KINDS)('the schema of a %s database', (kind) => {
  const { platforms: _, ...others } = CATALOGUE_TABLES;
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase(kind));
  });
  afterEach(() => database.close());

  it('is complete in the tables that the product creates', async () => {
    await createTables(database, CATALOGUE_TABLES);
    // Existing tables stay.
    await createTables(database, CATALOGUE_TABLES);
    await expect(checkTables(database, CATALOGUE_TABLES)).resolves.toBeUndefined();
  });

  it('names every missing table and column at once', async () => {
    await database.run('CREATE TABLE platforms (id INT, slug VARCHAR(10), name VARCHAR(10))');
    await database.run('CREATE TABLE games (id INT, platform_id INT, slug VARCHAR(9), genres INT)');
    await database.run('CREATE TABLE cover_files (id INT)');
    await expect(checkTables(database, CATALOGUE_TABLES)).rejects.toThrow(
      'The database lacks the table covers and the columns games.title, games.release_year, ' +
        'games.description, games.developer, games.publisher, cover_files.cover_id, ' +
        'cover_files.variant, cover_files.mime_type, cover_files.width, cover_files.height, ' +
        'cover_files.size_bytes, cover_files.path',
    );
  });

  it('may be offered by views over other tables', async () => {
    await createTables(database, others);
    await database.run('CREATE TABLE systems (number INT, code VARCHAR(10), label VARCHAR(10))');
    await database.run(
      'CREATE VIEW platforms AS SELECT number AS id, code AS slug, label AS name FROM systems',
    );
    await expect(checkTables(database, CATALOGUE_TABLES)).resolves.toBeUndefined();
  });

  it('may lack game_titles, and is checked with it if it exists', async () => {
    const withoutUpdatedAt = ['games', 'covers', 'cover_files'];
    await createTables(database, CATALOGUE_TABLES);
    expect(await checkCatalogue(database)).toEqual({ optionalTables: [], withoutUpdatedAt });
    await createTables(database, { game_titles: OPTIONAL_TABLES.game_titles });
    expect(await checkCatalogue(database)).toEqual({
      optionalTables: ['game_titles'],
      withoutUpdatedAt,
    });
    await database.run('DROP TABLE game_titles');
    await database.run('CREATE TABLE names (game INT, name VARCHAR(10))');
    await database.run('CREATE VIEW game_titles AS SELECT game game_id, name title FROM names');
    expect(await checkCatalogue(database)).toEqual({
      optionalTables: ['game_titles'],
      withoutUpdatedAt,
    });
  });

  it('names a missing column of game_titles with the others', async () => {
    const { covers: _, ...rest } = CATALOGUE_TABLES;
    await createTables(database, rest);
    await database.run('CREATE TABLE game_titles (game_id INT, name VARCHAR(10))');
    await expect(checkCatalogue(database)).rejects.toThrow(
      'The database lacks the table covers and the column game_titles.title, or its user may not read them.',
    );
  });

  it('does not lack game_titles if it is a view whose table is gone', async () => {
    await createTables(database, CATALOGUE_TABLES);
    await database.run('CREATE TABLE names (game_id INT, title VARCHAR(10))');
    await database.run('CREATE VIEW game_titles AS SELECT game_id, title FROM names');
    await database.run('DROP TABLE names');
    await expect(checkCatalogue(database)).rejects.toThrow(/^The view game_titles cannot be read/);
  });
});
