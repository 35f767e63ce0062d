/** The tables of keys are complete, whoever creates them first. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKeysTables } from '#keys/tables/schema.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { KINDS, makeDatabase } from '#test/support/databases.ts';

describe.each(KINDS)('the tables of keys in a %s database', (kind) => {
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase(kind));
  });
  afterEach(() => database.close());

  it('keep their rows if they are created again, also by two programs at once, and never reuse an id', async () => {
    await Promise.all([createKeysTables(database), createKeysTables(database)]);
    const insert = () =>
      database.run(
        "INSERT INTO api_keys (purpose, website_url, state, requested_at) VALUES ('', '', 'pending', '2026-01-01 00:00:00')",
      );
    expect((await insert()).insertId).toBe(1);
    await createKeysTables(database);
    expect(await database.rows('SELECT id, limit_per_minute FROM api_keys')).toEqual([[1, 120]]);
    await database.run('DELETE FROM api_keys');
    expect((await insert()).insertId).toBe(2);
  });

  it('of an earlier version get the columns that they lack, also from two programs at once', async () => {
    await createKeysTables(database);
    for (const column of ['last_used_at', 'limit_of']) {
      await database.run(`ALTER TABLE api_keys DROP COLUMN ${column}`);
    }
    await Promise.all([createKeysTables(database), createKeysTables(database)]);
    expect(await database.rows('SELECT last_used_at, limit_of FROM api_keys')).toEqual([]);
  });
});
