/**
 * Values of rows: the same from every database and in both ways to read them.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database, Row } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';

/** The rows of a statement, read as a stream. */
async function readAll(database: Database, sql: string): Promise<Row[]> {
  const rows: Row[] = [];
  const count = await database.each(sql, (row) => rows.push(row));
  expect(count).toBe(rows.length);
  expect(await database.rows(sql)).toEqual(rows);
  return rows;
}

let database: Database;
afterEach(() => database.close());

describe.each(KINDS)('of %s', (kind) => {
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase(kind));
  });

  test('texts of every length that the protocol encodes differently, null and empty ones', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT, c LONGTEXT)');
    const lengths = [0, 1, 250, 251, 252, 253, 254, 255, 256, 65_535, 65_536, 100_000];
    const rows = lengths.map(
      (length, i): Row => [i, 'é'.repeat(length / 2), null, 'x'.repeat(length)],
    );
    for (const row of rows) await database.run('INSERT INTO t VALUES (?, ?, ?, ?)', row);
    expect(await readAll(database, 'SELECT id, a, b, c FROM t ORDER BY id')).toEqual(rows);
  });

  test('whole numbers, exact at any size', async () => {
    await database.run('CREATE TABLE t (id BIGINT PRIMARY KEY)');
    const ids = [
      ...['-9223372036854775808', '-9007199254740993', -1, 0, 1, 9, 10, 2 ** 31, 2 ** 32, 10 ** 15],
      ...[999_999_999_999_999, 2 ** 53 - 1, '9007199254740993', '9223372036854775807'],
    ];
    for (const id of ids) await database.run('INSERT INTO t VALUES (?)', [id]);
    const values = (await readAll(database, 'SELECT id FROM t')).map(([id]) => id);
    expect(new Set(values)).toEqual(new Set(ids));
  });

  test('rows do not change while later rows arrive', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b INT)');
    const rows = Array.from({ length: 3000 }, (_, id): Row => {
      return [id, id % 3 ? `${'text '.repeat(id % 70)}${id}` : null, id % 2 ? id * 1000 : null];
    });
    await database.transaction(async (writer) => {
      for (const row of rows) await writer.run('INSERT INTO t VALUES (?, ?, ?)', row);
    });
    expect(await readAll(database, 'SELECT id, a, b FROM t ORDER BY id')).toEqual(rows);
  });
});

describe('of mysql', () => {
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase('mysql'));
  });

  test('a value beyond 16 MiB, which comes in several packets', async () => {
    const [[most]] = (await database.rows('SELECT @@GLOBAL.max_allowed_packet')) as [[number]];
    await database.run('SET GLOBAL max_allowed_packet = 67108864');
    await database.close();
    database = await openDatabase(await makeDatabase('mysql'));
    await database.run(`SET GLOBAL max_allowed_packet = ${most}`);
    const [row] = await readAll(database, "SELECT 1, REPEAT('xyz', 7000000), 'after'");
    expect(row?.[0]).toBe(1);
    expect(row?.[1] === 'xyz'.repeat(7_000_000)).toBe(true);
    expect(row?.[2]).toBe('after');
  });

  test('columns of every type', async () => {
    await database.run(
      `CREATE TABLE t (a INT(5) ZEROFILL, z BIGINT(20) ZEROFILL, b DECIMAL(6, 2), c DOUBLE, d DATETIME(3), e DATETIME, f DATE,
       g VARBINARY(9), h YEAR, i TEXT CHARACTER SET latin1, j ENUM('é', 'x'), k BOOLEAN, l DECIMAL(20))`,
    );
    await database.run(
      `INSERT INTO t VALUES (42, 42, 1.50, 0.25, '2026-01-02 03:04:05.678', '2026-01-02 03:04:05',
       '2026-01-02', 'bytes é', 1999, 'é', 'é', TRUE, '12345678901234567890')`,
    );
    const [row] = await readAll(database, 'SELECT * FROM t');
    const time = '2026-01-02 03:04:05';
    expect(row).toEqual([
      ...[42, 42, 1.5, 0.25, time, time, '2026-01-02', 'bytes é', 1999, 'é', 'é', 1],
      '12345678901234567890',
    ]);
    await database.run('INSERT INTO t (a) VALUES (7)');
    const [, empty] = await readAll(database, 'SELECT * FROM t');
    expect(empty).toEqual([7, ...Array(12).fill(null)]);
  });
});
