/** An SQLite file with a rollback journal, as other programs make it: readers and writers exclude each other. */
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { isAway } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { makeFolder } from '#test/support/product.ts';

function makeFile() {
  const file = path.join(makeFolder(), 'catalogue.db');
  const other = new DatabaseSync(file, { timeout: 0 });
  other.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 0)');
  return { url: `sqlite:${file}`, other };
}

test('a read that had to wait keeps no lock, so that a writer need not wait for ever', async () => {
  const { url, other } = makeFile();
  const database = await openDatabase(url);
  other.exec('BEGIN EXCLUSIVE');
  const waiting = database.rows('SELECT n FROM t');
  other.exec('COMMIT');
  expect(await waiting).toEqual([[0]]);
  expect(await database.rows('SELECT n FROM t')).toEqual([[0]]);
  expect(other.prepare('UPDATE t SET n = 1').run().changes).toBe(1);
  await database.close();
  other.close();
});

test('a file that stays locked counts as away, which another error does not', async () => {
  const { url, other } = makeFile();
  const database = await openDatabase(url);
  const isAwayAfter = (work: Promise<unknown>) =>
    work.catch((error: unknown) => isAway(database, error));
  expect(await isAwayAfter(database.rows('SELECT none FROM t'))).toBe(false);
  other.exec('BEGIN EXCLUSIVE');
  let at = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (at += 6_000));
  expect(await isAwayAfter(database.rows('SELECT n FROM t'))).toBe(true);
  expect(await isAwayAfter(database.transaction(({ run }) => run('DELETE FROM t')))).toBe(true);
  clock.mockRestore();
  await database.close();
  other.close();
});

test('many that read and write at once all end, and lose no update', async () => {
  const { url, other } = makeFile();
  const databases = await Promise.all(Array.from({ length: 8 }, () => openDatabase(url)));
  other.exec('BEGIN EXCLUSIVE');
  const work = databases.map(async (database) => {
    // Each reads first, as a program does that checks its tables.
    await database.rows('SELECT n FROM t');
    await database.transaction(async ({ rows, run }) => {
      const [[n] = []] = await rows('SELECT n FROM t');
      await database.rows('SELECT n FROM t');
      await run('UPDATE t SET n = ?', [Number(n) + 1]);
    });
    await database.run('UPDATE t SET n = n + 1');
  });
  other.exec('COMMIT');
  await Promise.all(work);
  expect(await databases[0]?.rows('SELECT n FROM t')).toEqual([[16]]);
  for (const database of databases) await database.close();
  other.close();
});
