/**
 * Views of rows: what lies in their bytes is what the same rows have as values, whichever database
 * they come from.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database, Row } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { Kind, type RowView, valueAt } from '../../database/row-view.ts';
import { KINDS, makeDatabase } from '../support/databases.ts';

interface Seen {
  readonly kinds: readonly number[];
  /** The bytes as UTF-8; null where there are none. */
  readonly texts: readonly (string | null)[];
  readonly values: Row;
}

/** What one row after another shows, once each way. */
async function look(database: Database, sql: string): Promise<Seen[]> {
  const seen: Seen[] = [];
  await database.each(sql, (row) => {
    const columns = [...row.kind.keys()];
    const texts = columns.map((column) => textAt(row, column));
    const single = columns.map((column) => valueAt(row, column));
    const values = row.values();
    expect(single).toEqual(values);
    // It can be asked for again, and looking at it changes nothing.
    expect([row.values(), columns.map((column) => textAt(row, column))]).toEqual([values, texts]);
    seen.push({ kinds: [...row.kind], texts, values });
  });
  return seen;
}

function textAt({ bytes, kind, start, end }: RowView, column: number): string | null {
  if (kind[column] === Kind.NULL) return null;
  return bytes.toString('utf8', start[column], end[column]);
}

let database: Database;
afterEach(() => database.close());

describe.each(KINDS)('of %s', (kind) => {
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase(kind));
  });

  test('texts of every length that is told in another way, nulls and what is empty', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT, c LONGTEXT)');
    const lengths = [0, 1, 250, 251, 252, 253, 254, 255, 256, 65_535, 65_536, 100_000];
    const rows = lengths.map(
      (length, i): Row => [i, 'é'.repeat(length / 2), null, 'x'.repeat(length)],
    );
    for (const row of rows) await database.run('INSERT INTO t VALUES (?, ?, ?, ?)', row);
    const seen = await look(database, 'SELECT id, a, b, c FROM t ORDER BY id');
    expect(seen.map(({ values }) => values)).toEqual(rows);
    expect(seen.map(({ texts }) => texts.slice(1))).toEqual(rows.map((row) => row.slice(1)));
    for (const { kinds } of seen) {
      expect(kinds).toEqual([Kind.INTEGER, Kind.TEXT, Kind.NULL, Kind.TEXT]);
    }
  });

  test('whole numbers, exact at any size', async () => {
    await database.run('CREATE TABLE t (id BIGINT PRIMARY KEY)');
    const ids = [
      ...['-9223372036854775808', '-9007199254740993', -1, 0, 1, 9, 10, 2 ** 31, 2 ** 32, 10 ** 15],
      ...[999_999_999_999_999, 2 ** 53 - 1, '9007199254740993', '9223372036854775807'],
    ];
    for (const id of ids) await database.run('INSERT INTO t VALUES (?)', [id]);
    const seen = await look(database, 'SELECT id FROM t');
    expect(seen.map(({ texts }) => texts[0]).toSorted()).toEqual(ids.map(String).toSorted());
    const values = new Set(seen.map((row) => row.values[0]));
    expect(values).toEqual(new Set(ids));
  });

  test('a row stands for itself alone, however the next one differs', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b INT)');
    const rows = Array.from({ length: 3000 }, (_, id): Row => {
      return [id, id % 3 ? `${'text '.repeat(id % 70)}${id}` : null, id % 2 ? id * 1000 : null];
    });
    await database.transaction(async (writer) => {
      for (const row of rows) await writer.run('INSERT INTO t VALUES (?, ?, ?)', row);
    });
    const seen = await look(database, 'SELECT id, a, b FROM t ORDER BY id');
    expect(seen.map(({ values }) => values)).toEqual(rows);
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
    let length = 0;
    await database.each("SELECT 1, REPEAT('xyz', 7000000), 'after'", (row) => {
      expect([...row.kind]).toEqual([Kind.INTEGER, Kind.TEXT, Kind.TEXT]);
      length = row.end[1] - row.start[1];
      expect(textAt(row, 2)).toBe('after');
      expect(String(valueAt(row, 1)).endsWith('xyzxyz')).toBe(true);
    });
    expect(length).toBe(21_000_000);
  });

  test('columns whose bytes are not the value', async () => {
    await database.run(
      `CREATE TABLE t (a INT(5) ZEROFILL, z BIGINT(20) ZEROFILL, b DECIMAL(6, 2), c DOUBLE, d DATETIME(3), e DATETIME, f DATE,
       g VARBINARY(9), h YEAR, i TEXT CHARACTER SET latin1, j ENUM('é', 'x'), k BOOLEAN, l DECIMAL(20))`,
    );
    await database.run(
      `INSERT INTO t VALUES (42, 42, 1.50, 0.25, '2026-01-02 03:04:05.678', '2026-01-02 03:04:05',
       '2026-01-02', 'bytes é', 1999, 'é', 'é', TRUE, '12345678901234567890')`,
    );
    const [row] = await look(database, 'SELECT * FROM t');
    const time = '2026-01-02 03:04:05';
    expect(row?.values).toEqual([
      ...[42, 42, 1.5, 0.25, time, time, '2026-01-02', 'bytes é', 1999, 'é', 'é', 1],
      '12345678901234567890',
    ]);
    const { TEXT, INTEGER, OTHER } = Kind;
    expect(row?.kinds).toEqual([
      ...[
        INTEGER,
        INTEGER,
        OTHER,
        OTHER,
        OTHER,
        TEXT,
        OTHER,
        OTHER,
        INTEGER,
        TEXT,
        TEXT,
        INTEGER,
        OTHER,
      ],
    ]);
    expect([row?.texts[9], row?.texts[10]]).toEqual(['é', 'é']);
  });
});
