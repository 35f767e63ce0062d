/**
 * Reads all rows of the catalogue in DATABASE_URL in one consistent read, like the generator, and
 * discards them: the minimum cost of a generation.
 */
import { openDatabase } from '../../database/open.ts';
import { readEnvironment } from '../../program/environment/environment.ts';

const database = await openDatabase(readEnvironment(['DATABASE_URL']).DATABASE_URL);
await database.snapshot(async (reader) => {
  for (const table of ['platforms', 'games', 'covers', 'cover_files']) {
    await reader.each(`SELECT * FROM ${table} ORDER BY id`, () => {});
  }
});
await database.close();
