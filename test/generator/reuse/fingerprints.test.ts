/** The fingerprint of a table is the sum of those of its chunks, on each kind of database. */
import { expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { readFingerprints, readFingerprintsUnless } from '../../../generator/reuse/fingerprints.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';
import { addTimes } from './random-changes.ts';

test.each(KINDS)('on %s', async (kind) => {
  const database = await openDatabase(await makeDatabase(kind));
  await loadCatalogue(database, seededCatalogue({ games: 200, seed: 3, hugeIds: true }));
  await addTimes(database);
  await database.run("UPDATE games SET updated_at = '2026-01-01 00:00:00' WHERE id % 3 = 0");
  await database.run('UPDATE games SET updated_at = NULL WHERE id % 7 = 0');
  for (const table of ['games', 'covers'] as const) {
    const before = await readFingerprints(database, table, 52);
    expect(before.chunks.size).toBeGreaterThan(1);
    const fail = () => {
      throw new Error('the fingerprint differs');
    };
    expect(await readFingerprintsUnless(before, database, table, fail)).toBe(before);
    const late = "UPDATE games SET updated_at = '2025-12-31 00:00:00' WHERE id % 3 = 0";
    await database.run(late.replace('games', table));
    const after = await readFingerprintsUnless(before, database, table, () => {});
    expect(after.whole).not.toBe(before.whole);
    expect(after).toEqual(await readFingerprints(database, table, 52));
  }
  await database.close();
});

// For these ids and times, the sum of CRC32(id || ' ' || updated_at) is the same before and after.
test.each(KINDS)('two rows that change at once do not hide each other on %s', async (kind) => {
  const database = await openDatabase(await makeDatabase(kind));
  await database.run('CREATE TABLE games (id INTEGER PRIMARY KEY, updated_at VARCHAR(19))');
  const insert = 'INSERT INTO games VALUES (?, ?)';
  for (const id of [39, 40]) await database.run(insert, [id, '2024-06-01 15:53:21']);
  // The latest time stays the same.
  await database.run(insert, [41, '2027-01-01 00:00:00']);
  const before = await readFingerprints(database, 'games', 52);
  await database.run("UPDATE games SET updated_at = '2026-03-30 12:27:08' WHERE id < 41");
  const after = await readFingerprints(database, 'games', 52);
  expect(after.whole).not.toBe(before.whole);
  await database.close();
});
