/** One interface to MySQL, MariaDB and SQLite: values, times, transactions and errors are alike. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database, Row } from '#lib/database/database.ts';
import { type OpenOptions, openDatabase } from '#lib/database/open.ts';
import { KINDS, makeDatabase, selectMany, sharedServer } from '#test/support/databases.ts';
import { makeFolder } from '#test/support/product.ts';
import { startTcpProxy } from '#test/support/servers/tcp-proxy.ts';

const LARGEST = '9223372036854775807';

/** The rows of a statement, which are the same read at once and as a stream in a snapshot. */
async function readAll(database: Database, sql: string): Promise<Row[]> {
  const rows = await database.snapshot(async (reader) => {
    const streamed: Row[] = [];
    await reader.each(sql, (row) => streamed.push(row));
    return streamed;
  });
  expect(await database.rows(sql)).toEqual(rows);
  return rows;
}

describe.each(KINDS)('a %s database', (kind) => {
  let url: string;
  let database: Database;
  beforeEach(async () => {
    url = await makeDatabase(kind);
    database = await openDatabase(url);
  });
  afterEach(() => database.close());

  it('returns texts as they were written: quotes, characters of four bytes, every length, null', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT)');
    const texts = [`it's a "quoted" \\ back\\'slash; -- ? %`, '😀 ポケモン é \u0301\n\t', null];
    // The protocol encodes these lengths differently.
    const lengths = [0, 1, 250, 251, 252, 253, 254, 255, 256, 65_535, 65_536, 100_000];
    const rows = [
      ...texts.map((text, i): Row => [i, text, null]),
      ...lengths.map((length, i): Row => [9 + i, 'é'.repeat(length / 2), 'x'.repeat(length)]),
    ];
    for (const row of rows) await database.run('INSERT INTO t VALUES (?, ?, ?)', row);
    expect(await readAll(database, 'SELECT id, a, b FROM t ORDER BY id')).toEqual(rows);
  });

  it('returns whole numbers exactly, at any size', async () => {
    await database.run('CREATE TABLE t (id BIGINT PRIMARY KEY)');
    const ids = [
      ...['-9223372036854775808', '-9007199254740993', -1, 0, 1, 9, 10, 2 ** 31, 2 ** 32, 10 ** 15],
      ...[999_999_999_999_999, 2 ** 53 - 1, '9007199254740993', LARGEST],
    ];
    for (const id of ids) await database.run('INSERT INTO t VALUES (?)', [id]);
    const values = (await readAll(database, 'SELECT id FROM t')).map(([id]) => id);
    expect(new Set(values)).toEqual(new Set(ids));
    expect(await database.rows('SELECT id FROM t WHERE id = ?', [LARGEST])).toEqual([[LARGEST]]);
  });

  it('returns times as text and does not change zero dates', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, at DATETIME NULL)');
    await database.run(
      "INSERT INTO t VALUES (1, '2026-03-29 02:30:00'), (2, '0000-00-00 00:00:00'), (3, NULL)",
    );
    expect(await database.rows('SELECT at FROM t ORDER BY id')).toEqual([
      ['2026-03-29 02:30:00'],
      ['0000-00-00 00:00:00'],
      [null],
    ]);
  });

  it('returns sums, counts and averages as numbers', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY)');
    await database.run('INSERT INTO t VALUES (1), (2)');
    expect(await database.rows('SELECT COUNT(*), SUM(id), AVG(id) FROM t')).toEqual([[2, 3, 1.5]]);
  });

  it('marks a change of a table once it is committed, and tells when that was, if it is a server', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY)');
    await database.run('CREATE TABLE u (id INT PRIMARY KEY)');
    await database.run('CREATE VIEW v AS SELECT id FROM t');
    const other = await openDatabase(url);
    const markOf = () => other.changeMark(['t', 'u']);
    const commits = () => other.lastCommits(['t', 'u', 'v']);
    const before = await markOf();
    await database.transaction(async ({ run }) => {
      await run('INSERT INTO t VALUES (1)');
      expect(await markOf()).toBe(before);
      expect(await commits()).toEqual(new Map());
    });
    expect(await markOf()).not.toBe(before);
    const commit = (await commits()).get('t');
    expect([...(await commits()).keys()]).toEqual(kind === 'mysql' ? ['t'] : []);
    if (kind === 'mysql') {
      expect(commit?.time).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
      expect(commit?.secondsAgo).toBeGreaterThanOrEqual(0);
    }
    expect((await other.changeMark(['v'])) === undefined).toBe(kind === 'mysql');
    await other.close();
  });

  it('tells whether a query finds its rows through an index, also through a view', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, n INT, m INT)');
    await database.run('CREATE VIEW v AS SELECT id AS i, n AS k, m AS l FROM t');
    await database.run('CREATE VIEW w AS SELECT i, k + 0 AS k FROM v');
    await database.run('INSERT INTO t VALUES (0, 0, 0)');
    for (let rows = 1; rows < 4_000; rows *= 2)
      await database.run(`INSERT INTO t SELECT id + ${rows}, n + ${rows}, m + ${rows} FROM t`);
    await database.run('CREATE INDEX t_n ON t (n)');
    const usesIndex = (table: string, column: string) =>
      database.usesIndex(
        `SELECT * FROM ${table} WHERE ${column} > ? ORDER BY ${column} DESC LIMIT 10`,
        [4_000],
      );
    expect(await usesIndex('t', 'n')).toBe(true);
    expect(await usesIndex('v', 'k')).toBe(true);
    expect(await usesIndex('t', 'm')).toBe(false);
    expect(await usesIndex('v', 'l')).toBe(false);
    expect(await usesIndex('w', 'k')).toBe(false);
  });

  it('reads double quotes as names and || as concatenation', async () => {
    await database.run('CREATE TABLE "order" ("key" INT)');
    expect(await database.rows(`SELECT 'a' || 'b' FROM "order"`)).toEqual([]);
    expect(await database.rows(`SELECT 'a' || 'b'`)).toEqual([['ab']]);
  });

  it('returns how many rows a statement matched, and the id that it made', async () => {
    const increment = kind === 'mysql' ? 'BIGINT AUTO_INCREMENT' : 'INTEGER';
    await database.run(`CREATE TABLE t (id ${increment} PRIMARY KEY, n INT)`);
    expect(await database.run('INSERT INTO t (n) VALUES (?)', [5])).toEqual({
      changes: 1,
      insertId: 1,
    });
    expect((await database.run('INSERT INTO t (n) VALUES (5), (6)')).changes).toBe(2);
    // A row that already has the new value counts too.
    expect((await database.run('UPDATE t SET n = 5 WHERE n = 5')).changes).toBe(2);
    expect((await database.run('DELETE FROM t WHERE n = 7')).changes).toBe(0);
  });

  it('streams rows in order, and they do not change while later ones arrive', async () => {
    await database.run('CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b INT)');
    const rows = Array.from({ length: 3000 }, (_, id): Row => {
      return [id, id % 3 ? `${'text '.repeat(id % 70)}${id}` : null, id % 2 ? id * 1000 : null];
    });
    await database.transaction(async (writer) => {
      for (const row of rows) await writer.run('INSERT INTO t VALUES (?, ?, ?)', row);
    });
    expect(await readAll(database, 'SELECT id, a, b FROM t ORDER BY id')).toEqual(rows);
  });

  it('ends a stream with the error that onRow throws, and stays usable', async () => {
    await fill(database, 2_000);
    const mine = new Error('mine');
    let seen = 0;
    const stream = database.each('SELECT id FROM t', () => {
      if (++seen === 500) throw mine;
    });
    await expect(stream).rejects.toBe(mine);
    expect(await database.rows('SELECT COUNT(*) FROM t')).toEqual([[2_000]]);
    expect(seen).toBe(500);
  });

  it('shows one moment in a snapshot, that of its begin, even while others write', async () => {
    await fill(database, 10);
    const other = await openDatabase(url);
    const counts = await database.snapshot(async (reader) => {
      await database.run('DELETE FROM t WHERE id < 2');
      const before = await reader.rows('SELECT COUNT(*) FROM t');
      await other.run('DELETE FROM t WHERE id < 5');
      return [before, await reader.rows('SELECT COUNT(*) FROM t')];
    });
    await other.close();
    expect(counts).toEqual([[[10]], [[10]]]);
    expect(await database.rows('SELECT COUNT(*) FROM t')).toEqual([[5]]);
  });

  it('undoes a transaction whose work fails', async () => {
    await fill(database, 10);
    const mine = new Error('mine');
    const work = database.transaction(async (writer) => {
      await writer.run('DELETE FROM t');
      throw mine;
    });
    await expect(work).rejects.toBe(mine);
    expect(await database.rows('SELECT COUNT(*) FROM t')).toEqual([[10]]);
  });

  it('loses no update when many transactions change one row at once', async () => {
    await fill(database, 1);
    const other = await openDatabase(url);
    const add = (on: Database) =>
      on.transaction(async (writer) => {
        // A deferred transaction of SQLite would fail if another one wrote after this read.
        await writer.rows('SELECT COUNT(*) FROM t');
        await writer.run('UPDATE t SET text = text WHERE id = 0');
        const [[text]] = (await writer.rows('SELECT text FROM t WHERE id = 0')) as [[string]];
        await writer.rows('SELECT 1');
        await writer.run('UPDATE t SET text = ? WHERE id = 0', [`${text}+`]);
      });
    await Promise.all(Array.from({ length: 20 }, (_, i) => add(i % 2 === 0 ? database : other)));
    await other.close();
    expect(await database.rows('SELECT text FROM t')).toEqual([[`0${'+'.repeat(20)}`]]);
  });

  it('does not include statements of others in a transaction', async () => {
    await fill(database, 2);
    let outside: Promise<unknown> | undefined;
    const work = database.transaction(async (writer) => {
      await writer.run("UPDATE t SET text = 'inside' WHERE id = 0");
      // In SQLite it waits for the transaction, in MariaDB it runs at once. Neither undoes it.
      outside = database.run("UPDATE t SET text = 'outside' WHERE id = 1");
      if (kind === 'mysql') await outside;
      await writer.rows('SELECT 1');
      throw new Error('undo');
    });
    await expect(work).rejects.toThrow('undo');
    await outside;
    expect(await database.rows('SELECT text FROM t ORDER BY id')).toEqual([['0'], ['outside']]);
  });

  it('reports what is wrong with a statement', async () => {
    await expect(database.rows('SELECT id FROM nowhere')).rejects.toThrow(/query of .*nowhere/);
    await expect(database.each('SELEC', () => {})).rejects.toThrow(/query of .*SELEC/i);
  });

  it('lists columns of tables and views in lower case', async () => {
    await database.run('CREATE TABLE t (ID INT, Text INT)');
    await database.run('CREATE VIEW v AS SELECT id AS Game_Id FROM t');
    const columns = await database.columns();
    expect(columns.get('t')).toEqual(new Set(['id', 'text']));
    expect(columns.get('v')).toEqual(new Set(['game_id']));
  });
});

describe('a mysql database', () => {
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase('mysql'));
  });
  afterEach(() => database.close());

  it('reads columns of every type, and times in UTC and whole seconds', async () => {
    await database.run(
      `CREATE TABLE t (a INT(5) ZEROFILL, z BIGINT(20) ZEROFILL, b DECIMAL(6, 2), c DOUBLE, d DATETIME(6), e DATETIME, f DATE,
       g VARBINARY(9), h YEAR, i TEXT CHARACTER SET latin1, j ENUM('é', 'x'), k BOOLEAN, l DECIMAL(20), m BIGINT UNSIGNED,
       n TIMESTAMP(3) NULL)`,
    );
    await database.run(
      `INSERT INTO t VALUES (42, 42, 1.50, 0.25, '2026-01-02 03:04:05.678901', '2026-01-02 03:04:05',
       '2026-01-02', 'bytes é', 1999, 'é', 'é', TRUE, '12345678901234567890', '18446744073709551615', FROM_UNIXTIME(1.5))`,
    );
    const [row] = await readAll(database, 'SELECT * FROM t');
    const time = '2026-01-02 03:04:05';
    expect(row).toEqual([
      ...[42, 42, 1.5, 0.25, time, time, '2026-01-02', 'bytes é', 1999, 'é', 'é', 1],
      ...['12345678901234567890', '18446744073709551615', '1970-01-01 00:00:01'],
    ]);
    await database.run('INSERT INTO t (a) VALUES (7)');
    const [, empty] = await readAll(database, 'SELECT * FROM t');
    expect(empty).toEqual([7, ...Array(14).fill(null)]);
  });

  it('reads a value beyond 16 MiB, which comes in several packets', async () => {
    const [[most]] = (await database.rows('SELECT @@GLOBAL.max_allowed_packet')) as [[number]];
    await database.run('SET GLOBAL max_allowed_packet = 67108864');
    const large = await openDatabase(await makeDatabase('mysql'));
    await large.run(`SET GLOBAL max_allowed_packet = ${most}`);
    const [row] = await readAll(large, "SELECT 1, REPEAT('xyz', 7000000), 'after'");
    expect(row?.[0]).toBe(1);
    expect(row?.[1] === 'xyz'.repeat(7_000_000)).toBe(true);
    expect(row?.[2]).toBe('after');
    await large.close();
  });

  it('refuses a value that does not fit instead of truncating it', async () => {
    await database.run('CREATE TABLE t (a VARCHAR(3))');
    await expect(database.run("INSERT INTO t VALUES ('four')")).rejects.toThrow(/too long/);
  });

  // What a server answers to a deadlock, so many times in a session. User variables are not undone.
  const loseDeadlocks = (times: number) => `CREATE TRIGGER t_lost BEFORE UPDATE ON t FOR EACH ROW
    IF COALESCE(@lost, 0) < ${times} THEN
      SET @lost = COALESCE(@lost, 0) + 1;
      SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found';
    END IF`;

  it.each([
    [4, 1],
    [5, 0],
  ])('repeats a statement that lost a deadlock four times, not more: %i', async (times, done) => {
    await fill(database, 1);
    await database.run(loseDeadlocks(times));
    const update = database.run("UPDATE t SET text = CONCAT(text, '+')");
    if (done) expect(await update).toMatchObject({ changes: 1 });
    else await expect(update).rejects.toThrow('Deadlock found');
    expect(await database.rows('SELECT text, @lost FROM t')).toEqual([
      [`0${'+'.repeat(done)}`, times],
    ]);
  });

  it('repeats a transaction that lost a deadlock, from its beginning', async () => {
    await fill(database, 1);
    await database.run(loseDeadlocks(2));
    let begun = 0;
    await database.transaction(async (writer) => {
      begun++;
      await writer.run("INSERT INTO t VALUES (?, 'another')", [begun]);
      await writer.run("UPDATE t SET text = 'changed' WHERE id = 0");
    });
    expect(begun).toBe(3);
    expect(await database.rows('SELECT id, text FROM t ORDER BY id')).toEqual([
      [0, 'changed'],
      [3, 'another'],
    ]);
  });

  it('cannot write within a snapshot', async () => {
    await fill(database, 1);
    const write = database.snapshot((reader) => reader.rows('DELETE FROM t'));
    await expect(write).rejects.toThrow(/READ ONLY/);
  });
});

describe('a stream that is interrupted', () => {
  const ENDLESS = selectMany(9);
  let database: Database;
  const open = async (options?: OpenOptions) => {
    database = await openDatabase(await makeDatabase('mysql'), options);
  };
  afterEach(() => database.close());

  it.each(['CONNECTION', 'QUERY'])('ends with an error on KILL %s', async (what) => {
    await open();
    const stream = database.snapshot(async (reader) => {
      const [[id]] = (await reader.rows('SELECT CONNECTION_ID()')) as [[number]];
      let seen = 0;
      await reader.each(ENDLESS, () => {
        if (++seen === 1000) void database.run(`KILL ${what} ${id}`);
      });
    });
    await expect(stream).rejects.toThrow(/query of .*(?:interrupted|lost|killed)/i);
    expect(await database.rows('SELECT 1')).toEqual([[1]]);
  });

  it.each(['reset', 'end'] as const)(
    'ends with an error if its socket is cut (%s)',
    async (way) => {
      await open();
      const { relay, url } = await startRelay();
      const remote = await openDatabase(url);
      let seen = 0;
      const stream = remote.each(ENDLESS, () => {
        if (++seen === 1000) relay.cut(way, false);
      });
      await expect(stream).rejects.toThrow(/query of .*(?:lost|closed|reset)/i);
      expect(await remote.rows('SELECT 1')).toEqual([[1]]);
      await remote.close();
      await relay.stop();
    },
  );

  it('ends with an error when the server sends nothing more', async () => {
    await open();
    const { relay, url } = await startRelay();
    const impatient = { stallSeconds: 0.5, connectSeconds: 0.5 };
    const remote = await openDatabase(url, { stallSeconds: 0.5 });
    let seen = 0;
    const stream = remote.each(ENDLESS, () => {
      if (++seen === 1000) relay.cut('silence', true);
    });
    await expect(stream).rejects.toThrow(/sent nothing for 0.5 s/);
    await expect(openDatabase(url, impatient)).rejects.toThrow(/does not answer/);
    await remote.close();
    await relay.stop();
  });

  it('makes new statements fail while no server listens, and works after its return', async () => {
    await open();
    const { port, url } = await sharedServer();
    const socketPath = join(makeFolder(), 'server.sock');
    const relay = await startTcpProxy(port, undefined, socketPath);
    const remote = await openDatabase(`${url('mysql')}?socketPath=${socketPath}`);
    let stopped: Promise<void> | undefined;
    const stream = remote.each(ENDLESS, () => {
      stopped ??= relay.stop();
    });
    await expect(stream).rejects.toThrow(`query of mysql on ${socketPath}: `);
    await stopped;
    await expect(remote.rows('SELECT 1')).rejects.toThrow(
      `No database server listens at ${socketPath}`,
    );
    const again = await startTcpProxy(port, undefined, socketPath);
    expect(await remote.rows('SELECT 1')).toEqual([[1]]);
    await remote.close();
    await again.stop();
  });
});

describe('an address', () => {
  const refusal = async (url: string): Promise<string> => {
    const { message } = await openDatabase(url).then(
      () => expect.unreachable(),
      (error: Error) => error,
    );
    expect(message).not.toContain('\n');
    return message;
  };

  it('that is wrong is reported in one line, with the value and never the password', async () => {
    const right = new URL((await sharedServer()).url('mysql'));
    type Part = 'username' | 'password' | 'hostname' | 'port' | 'pathname';
    const change = (part: Part, to: string) => Object.assign(new URL(right), { [part]: to }).href;
    const wrong: readonly (readonly [url: string, fault: RegExp])[] = [
      [change('password', 'tell-nobody'), /refuses the user "catalogue" or its password/],
      [change('username', 'stranger'), /refuses the user "stranger"/],
      [change('pathname', '/missing'), /no database "missing" at 127\.0\.0\.1:\d+/],
      [change('hostname', 'nowhere.invalid'), /nowhere\.invalid:\d+, cannot be found/],
      [change('port', '1'), /No database server listens at 127\.0\.0\.1:1/],
      [`${right.href}?pool=5`, /parameter "pool"/],
      [`${right.href}?ssl=perhaps`, /not "perhaps"/],
      ['mysql://me:tell%nobody@localhost/catalogue', /password .* not percent-encoded/],
      ['mysql://me:tell-nobody@localhost/a/b', /name of the database, "a\/b"/],
    ];
    const password = decodeURIComponent(right.password);
    const secrets = [right.password, password, 'tell-nobody', 'tell%nobody'];
    for (const [url, fault] of wrong) {
      const message = await refusal(url);
      expect(message).toMatch(fault);
      expect(secrets.filter((secret) => message.includes(secret))).toEqual([]);
    }
  });

  it('of a file that is not a SQLite database is reported with its path, and no file is made', async () => {
    const folder = makeFolder();
    const text = join(folder, 'text');
    writeFileSync(text, 'Not a database, but as long as its header. '.repeat(20));
    const missing = join(folder, 'missing.db');
    // Twice, because the first call might have made the file.
    for (let call = 0; call < 2; call++) {
      expect(await refusal(`sqlite:${missing}`)).toContain(`no database file ${missing}`);
    }
    expect(await refusal(`sqlite:${folder}`)).toContain(`${folder} is not a file`);
    expect(await refusal(`sqlite:${text}`)).toContain(`${text} cannot be used`);
    expect(await refusal('sqlite::memory:')).toContain('names no file');
  });

  it('follows a SQLite file that is replaced', async () => {
    const folder = makeFolder();
    const files = ['old.db', 'new.db'].map((name) => join(folder, name)) as [string, string];
    for (const file of files) {
      const made = await openDatabase(`sqlite:${file}`, { create: true });
      await made.run('CREATE TABLE t (name VARCHAR(20))');
      await made.run('INSERT INTO t VALUES (?)', [file]);
      await made.close();
    }
    const [file, replacement] = files;
    const database = await openDatabase(`sqlite:${file}`);
    const mark = await database.changeMark(['t']);
    expect(await database.rows('SELECT name FROM t')).toEqual([[file]]);
    renameSync(replacement, file);
    expect(await database.changeMark(['t'])).not.toBe(mark);
    expect(await database.rows('SELECT name FROM t')).toEqual([[replacement]]);
    rmSync(file);
    await expect(database.rows('SELECT name FROM t')).rejects.toThrow(`no database file ${file}`);
    await database.close();
  });
});

/** Rows 0 to `count - 1`, each with its number as text. */
async function fill(database: Database, count: number): Promise<void> {
  await database.run('CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(100))');
  await database.transaction(async ({ run }) => {
    for (let first = 0; first < count; first += 1000) {
      const values = Array.from({ length: Math.min(1000, count - first) }, (_, i) => first + i);
      await run(`INSERT INTO t VALUES ${values.map((id) => `(${id}, '${id}')`).join(',')}`);
    }
  });
}

/** A way to the server that a test can cut. */
async function startRelay() {
  const { port, url } = await sharedServer();
  const relay = await startTcpProxy(port);
  return { relay, url: Object.assign(new URL(url('mysql')), { port: relay.port }).href };
}
