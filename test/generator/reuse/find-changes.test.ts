/** What fingerprints of blocks show, on each kind of database. */
import { expect, test } from 'vitest';
import { blockOf, chooseShift, rangesOf } from '#generator/reuse/blocks.ts';
import { differingBlocks, hadNoCommit, readFingerprints } from '#generator/reuse/find-changes.ts';
import type { Value } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { KINDS, type Kind, makeDatabase } from '#test/support/databases.ts';

const SHIFTS = { game: 4, cover: 4 };
const NOW = Date.UTC(2030, 0, 1) / 1000;

async function makeTable(kind: Kind, rows: readonly (readonly [id: Value, time: Value])[]) {
  const database = await openDatabase(await makeDatabase(kind));
  await database.run('CREATE TABLE games (id BIGINT PRIMARY KEY, updated_at DATETIME)');
  for (const row of rows) await database.run('INSERT INTO games VALUES (?, ?)', row);
  const readAt = (now: number) => readFingerprints(database, 'games', SHIFTS, now);
  return { database, readAt };
}

test('a block has its rows, whatever the size of their ids', async () => {
  const ids = '0 15 16 4294967295 4294967296 9007199254740993 9223372036854775807'.split(' ');
  const rows = ids.map((id) => [id, '2024-01-01 00:00:00'] as const);
  const { database } = await makeTable('sqlite', rows);
  const found = await readFingerprints(database, 'games', SHIFTS, NOW);
  const blocks = ids.map((id) =>
    blockOf([Number(BigInt(id) >> 32n), Number(BigInt(id) & 0xffffffffn)], 4),
  );
  expect(new Set(Object.keys(found))).toEqual(new Set(blocks));
  const [condition = ''] = rangesOf('games', blocks, SHIFTS);
  expect(condition).toContain('BETWEEN 0 AND 31 OR');
  const inRanges = await database.rows(`SELECT id FROM games WHERE ${condition}`);
  expect(inRanges).toHaveLength(ids.length);
  await database.close();
});

test('blocks have about 16 rows', () => {
  expect(chooseShift(1000, [0, 250], [0, 749])).toBe(4);
  expect(chooseShift(1000, [0, 16_000], [0, 47_999])).toBe(10);
  expect(chooseShift(0, [0, 0], [0, 0])).toBe(4);
  expect(chooseShift(1000, [0, 749], [0, 250])).toBe(0);
});

// For these ids and times, the sum of CRC32(id || ' ' || updated_at) is the same before and after.
test.each(KINDS)('two rows that change at once do not hide each other on %s', async (kind) => {
  const { database, readAt } = await makeTable(kind, [
    ...[39, 40].map((id) => [id, '2024-06-01 15:53:21'] as const),
    // The latest time stays the same.
    [41, '2027-01-01 00:00:00'],
  ]);
  const before = await readAt(NOW);
  await database.run("UPDATE games SET updated_at = '2026-03-30 12:27:08' WHERE id < 41");
  expect(differingBlocks(before, await readAt(NOW))).toEqual(['2']);
  await database.close();
});

test.each(KINDS)('a block with a recent or no time may have changed unseen on %s', async (kind) => {
  const { database, readAt } = await makeTable(kind, [
    [1, '2024-01-01 00:00:00'],
    [17, '2029-12-31 23:59:50'],
    [33, null],
    [34, '2024-01-01 00:00:00'],
  ]);
  const before = await readAt(NOW);
  const later = await readAt(NOW + 3600);
  expect(differingBlocks(before, later)).toEqual(['1', '2']);
  expect(differingBlocks(later, later)).toEqual(['2']);
  await database.run('DELETE FROM games WHERE id = 1');
  const gone = await readAt(NOW + 3600);
  expect(differingBlocks(later, gone).toSorted()).toEqual(['0', '2']);
  await database.close();
});

test.each(KINDS)('a table may have a column named block on %s', async (kind) => {
  const { database, readAt } = await makeTable(kind, [
    [1, '2024-01-01 00:00:00'],
    [17, '2024-01-01 00:00:00'],
  ]);
  await database.run('ALTER TABLE games ADD COLUMN block INT DEFAULT 7');
  expect(Object.keys(await readAt(NOW)).toSorted()).toEqual(['0', '1']);
  await database.close();
});

test.each(KINDS)('covers that take the place of others show, by their ids, on %s', async (kind) => {
  const database = await openDatabase(await makeDatabase(kind));
  await database.run('CREATE TABLE covers (id BIGINT PRIMARY KEY)');
  const read = () => readFingerprints(database, 'cover_ids', SHIFTS, NOW);
  await database.run('INSERT INTO covers VALUES (2), (5), (9007199254740993)');
  const before = await read();
  await database.run('UPDATE covers SET id = id - 1 WHERE id = 5');
  await database.run('UPDATE covers SET id = id + 1 WHERE id = 2');
  expect(differingBlocks(before, await read())).toEqual(['0']);
  await database.close();
});

const commitAt = (time: string, isComplete = true) => ({ games: { time, isComplete } });

test.each([
  ['has another time', false, commitAt('10:00:00', false), commitAt('10:00:01')],
  ['was complete and has another time', false, commitAt('10:00:00'), commitAt('10:00:01')],
  ['was complete and has the same time', true, commitAt('10:00:00'), commitAt('10:00:00')],
  ['was recent', false, commitAt('10:00:00', false), commitAt('10:00:00')],
  ['was not known before', false, {}, commitAt('10:00:00')],
  ['is not known any more', false, commitAt('10:00:00'), {}],
])('a last commit that %s: no commit since is %s', (_, expected, before, now) => {
  expect(hadNoCommit('games', before, now)).toBe(expected);
});
