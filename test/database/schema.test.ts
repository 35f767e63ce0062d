import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { checkSchema, columnNames, createKeysTable, createTables } from '../../database/schema.ts';
import { loadCatalogue } from '../catalogue/load.ts';
import { KINDS, makeDatabase } from '../support/databases.ts';

describe.each(KINDS)('the schema of a %s database', (kind) => {
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase(kind));
  });
  afterEach(() => database.close());

  it('is found whole in the tables that are made for newcomers', async () => {
    await createTables(database);
    await expect(
      checkSchema(database, [
        'platforms',
        'games',
        'covers',
        'cover_files',
        'accounts',
        'api_keys',
      ]),
    ).resolves.toBeUndefined();
  });

  it('names every missing table and column at once', async () => {
    await database.run('CREATE TABLE platforms (id INT, slug VARCHAR(10), name VARCHAR(10))');
    await database.run(
      'CREATE TABLE games (id INT, platform_id INT, slug VARCHAR(10), genres INT)',
    );
    await database.run('CREATE TABLE cover_files (id INT)');
    await expect(checkSchema(database)).rejects.toThrow(
      'The database lacks the table covers and the columns games.title, games.release_year, ' +
        'games.description, games.developer, games.publisher, cover_files.cover_id, ' +
        'cover_files.variant, cover_files.mime_type, cover_files.width, cover_files.height, ' +
        'cover_files.size_bytes, cover_files.path',
    );
  });

  it('may be offered by views over other tables', async () => {
    await createTables(database, ['games', 'covers', 'cover_files']);
    await database.run('CREATE TABLE systems (number INT, code VARCHAR(10), label VARCHAR(10))');
    await database.run(
      'CREATE VIEW platforms AS SELECT number AS id, code AS slug, label AS name FROM systems',
    );
    await expect(checkSchema(database)).resolves.toBeUndefined();
  });

  it('is not found in a view whose table is gone', async () => {
    await createTables(database, ['games', 'covers', 'cover_files']);
    await database.run('CREATE TABLE systems (id INT, slug VARCHAR(10), name VARCHAR(10))');
    await database.run('CREATE VIEW platforms AS SELECT id, slug, name FROM systems');
    await database.run('DROP TABLE systems');
    await expect(checkSchema(database)).rejects.toThrow(/platforms/);
  });

  it('leaves what is there when tables are made again, also by two at once', async () => {
    await Promise.all([createKeysTable(database), createKeysTable(database)]);
    await database.run(
      "INSERT INTO api_keys (purpose, website_url, state, requested_at) VALUES ('', '', 'pending', '2026-01-01 00:00:00')",
    );
    await createTables(database);
    await createKeysTable(database);
    expect(await database.rows('SELECT id, limit_per_minute FROM api_keys')).toEqual([[1, 120]]);
  });

  it('never gives the id of a key again', async () => {
    await createKeysTable(database);
    const insert = () =>
      database.run(
        "INSERT INTO api_keys (purpose, website_url, state, requested_at) VALUES ('', '', 'pending', '2026-01-01 00:00:00')",
      );
    expect((await insert()).insertId).toBe(1);
    await database.run('DELETE FROM api_keys');
    expect((await insert()).insertId).toBe(2);
  });

  it('takes the rows of a catalogue, however many', async () => {
    const platforms = [[1, 'snes', 'Super Nintendo']];
    const games = Array.from({ length: 1001 }, (_, i) => [
      i + 1,
      1,
      `game-${i}`,
      `Pokémon 😀 ${i}`,
      i % 2 ? 1990 : null,
      null,
      'Action, RPG',
      null,
      null,
    ]);
    await loadCatalogue(database, { platforms, games, covers: [], coverFiles: [], accounts: [] });
    expect(await database.rows('SELECT * FROM platforms')).toEqual(platforms);
    const select = `SELECT ${columnNames('games').join(', ')} FROM games ORDER BY id`;
    expect(await database.rows(select)).toEqual(games);
  });
});
