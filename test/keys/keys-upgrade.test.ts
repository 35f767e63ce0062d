/** Tables of earlier versions are upgraded, and an error names rights that a database user lacks. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { createTables } from '../../database/tables.ts';
import { hashKey, makeKey } from '../../format/api-key.ts';
import { exportKeys } from '../../generator/keys/export-keys.ts';
import { addSeconds, toDatabaseTime } from '../../keys/tables/database-time.ts';
import { ACCOUNTS_TABLE, createKeysTables } from '../../keys/tables/schema.ts';
import { openLink } from '../../keys/tables/sign-in-links.ts';
import { linksTo, tokenOf } from '../support/account.ts';
import { KINDS, makeDatabase } from '../support/databases.ts';
import { type Finished, makeFolder, ROOT, runProgram } from '../support/product.ts';

/** The table of the first version. */
const FIRST_TABLE = {
  mysql: `CREATE TABLE api_keys (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, account_id BIGINT UNSIGNED NULL,
    purpose TEXT NOT NULL, website_url VARCHAR(2000) NOT NULL, state VARCHAR(16) NOT NULL, reason TEXT NULL,
    limit_per_minute INT UNSIGNED NOT NULL DEFAULT 120, key_hash CHAR(64) NULL, key_prefix VARCHAR(16) NULL,
    requested_at DATETIME NOT NULL, reviewed_at DATETIME NULL, reviewed_by BIGINT UNSIGNED NULL,
    revealed_at DATETIME NULL, revoked_at DATETIME NULL, UNIQUE (key_hash), KEY (account_id), KEY (state)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
  sqlite: `CREATE TABLE api_keys (id INTEGER PRIMARY KEY AUTOINCREMENT, account_id BIGINT UNSIGNED NULL,
    purpose TEXT NOT NULL, website_url VARCHAR(2000) NOT NULL, state VARCHAR(16) NOT NULL, reason TEXT NULL,
    limit_per_minute INT UNSIGNED NOT NULL DEFAULT 120, key_hash CHAR(64) NULL, key_prefix VARCHAR(16) NULL,
    requested_at DATETIME NOT NULL, reviewed_at DATETIME NULL, reviewed_by BIGINT UNSIGNED NULL,
    revealed_at DATETIME NULL, revoked_at DATETIME NULL, UNIQUE (key_hash))`,
};
const KEY = makeKey();
const OLD_COLUMNS =
  'id, account_id, purpose, state, limit_per_minute, key_hash, key_prefix, requested_at';
const OLD_ROWS = [
  [1, null, 'issued', 'approved', 600, hashKey(KEY), KEY.slice(0, 8), '2025-01-02 03:04:05'],
  [2, 7, 'waiting', 'pending', 120, null, null, '2025-01-02 03:04:06'],
];

async function makeFirstTable(database: Database): Promise<void> {
  await database.run(FIRST_TABLE[database.kind]);
  for (const row of OLD_ROWS) {
    await database.run(
      `INSERT INTO api_keys (${OLD_COLUMNS}, website_url) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')`,
      row,
    );
  }
}

describe.each(KINDS)('a table of keys of the first version, on %s', (kind) => {
  let url: string;
  let database: Database;
  beforeEach(async () => {
    url = await makeDatabase(kind);
    database = await openDatabase(url);
    await makeFirstTable(database);
  });
  afterEach(() => database.close());
  const keys = (...args: string[]): Promise<Finished> =>
    runProgram('keys/cli/main.ts', args, { DATABASE_URL: url });

  it('is upgraded with its rows unchanged, even by several programs at once', async () => {
    const all = await Promise.all([1, 2, 3].map(() => keys('list', '--json')));
    expect(all.map(({ code, stderr }) => [code, stderr])).toEqual(all.map(() => [0, '']));
    expect(JSON.parse(all[0]?.stdout as string)).toEqual([
      expect.objectContaining({
        id: 1,
        state: 'approved',
        last_used_on: null,
        daily_quota: null,
      }),
      expect.objectContaining({ id: 2, state: 'pending', last_used_on: null }),
    ]);
    expect(await database.rows(`SELECT ${OLD_COLUMNS} FROM api_keys ORDER BY id`)).toEqual(
      OLD_ROWS,
    );
    expect((await keys('approve', '2')).code).toBe(0);
    expect((await keys('revoke', '1', '--reason', 'old')).code).toBe(0);
    const history = JSON.parse((await keys('history', '1', '--json')).stdout);
    expect(history).toEqual([expect.objectContaining({ action: 'revoked' })]);
  });

  it('is exported to the proxy before and after the upgrade', async () => {
    const folder = makeFolder();
    await exportKeys(database, folder);
    const before = readFileSync(path.join(folder, 'keys.json'), 'utf8');
    expect(before).toContain(hashKey(KEY));
    await createKeysTables(database);
    expect(await exportKeys(database, folder)).toBe(false);
    expect(readFileSync(path.join(folder, 'keys.json'), 'utf8')).toBe(before);
  });

  it('is refused if it lacks a column that every version has, naming the column', async () => {
    await database.run('ALTER TABLE api_keys DROP COLUMN reviewed_by');
    const { code, stdout, stderr } = await keys('list');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^The database lacks the column api_keys\.reviewed_by, .*README\.md/);
  });
});

describe.each(KINDS)('an outbox of an earlier version, on %s', (kind) => {
  it('is sent unchanged, its link works, and the text with the token is deleted', async () => {
    const url = await makeDatabase(kind);
    const database = await openDatabase(url);
    await createKeysTables(database);
    await createTables(database, ACCOUNTS_TABLE);
    await database.run("INSERT INTO accounts VALUES (7, 'seven@covers.example', 'Seven', 'user')");
    // That version stored the text of the mail, with the token of the link.
    const token = 'V4tQ0mB8cJ2yXr6uKp1sLz9fWn3eHd7aGi5oTb-RkE_';
    const soon = toDatabaseTime(addSeconds(new Date(), 600));
    const text = `Hello Seven,\n\nthis link signs you in:\n\nhttps://covers.example/account/sign-in/link?token=${token}\n\nIt works once, within 15 minutes.\n`;
    await database.run(
      'INSERT INTO sign_in_links (token_hash, account_id, expires_at) VALUES (?, 7, ?)',
      [hash('sha256', token), soon],
    );
    await database.run(
      `INSERT INTO mail_outbox (recipient, subject, body, created_at, expires_at, next_attempt_at)
       VALUES ('seven@covers.example', 'Your link to sign in', ?, ?, ?, ?)`,
      [text, ...Array(3).fill(soon)],
    );
    const mailFolder = makeFolder();
    const environment = { DATABASE_URL: url, MAIL_FOLDER: mailFolder };
    const sent = await runProgram('keys/cli/main.ts', ['outbox', '--send'], environment);
    expect([sent.code, sent.stderr]).toEqual([0, '1 sent.\n']);
    const [link] = linksTo('seven@covers.example', mailFolder);
    expect(tokenOf(link as string)).toBe(token);
    expect(await openLink(database, token, new Date())).toEqual({ accountId: 7 });
    expect(await database.rows('SELECT body FROM mail_outbox')).toEqual([['']]);
    await database.close();
  });
});

describe('a user of MariaDB', () => {
  let url: string;
  let admin: Database;
  let user: string;
  let userUrl: string;
  const keys = (...args: string[]): Promise<Finished> =>
    runProgram('keys/cli/main.ts', args, { DATABASE_URL: userUrl, MAIL_FOLDER: '/nowhere' });
  const grant = (rights: string, table: string) =>
    admin.run(`GRANT ${rights} ON ${new URL(url).pathname.slice(1)}.${table} TO ${user}`);

  beforeEach(async () => {
    url = await makeDatabase('mysql');
    admin = await openDatabase(url);
    user = `u${new URL(url).pathname.slice(-12)}`;
    await admin.run(`CREATE USER ${user} IDENTIFIED BY 'x'`);
    userUrl = url.replace(/\/\/.*@/, `//${user}:x@`);
  });
  afterEach(async () => {
    await admin.run(`DROP USER ${user}`);
    await admin.close();
  });

  it('needs only the rights in the documentation, and cannot change the history', async () => {
    const documents = ['README.md', 'OPERATIONS.md'].map((file) =>
      readFileSync(path.join(ROOT, file), 'utf8'),
    );
    const grants = [
      ...documents
        .join('\n')
        .matchAll(/^ {4}GRANT (.*) ON catalogue_api\.(\S+) TO catalogue_api;$/gm),
    ];
    expect(grants.length).toBeGreaterThan(5);
    await admin.run('CREATE TABLE game_titles (game_id BIGINT, title VARCHAR(500))');
    for (const [, rights, table] of grants) await grant(rights as string, table as string);
    await makeFirstTable(admin);
    await admin.run('CREATE TABLE people (no INT, mail VARCHAR(99), called VARCHAR(99))');
    await admin.run("INSERT INTO people VALUES (7, 'seven@covers.example', 'Seven')");
    await admin.run(
      "CREATE VIEW accounts AS SELECT no AS id, mail AS email, called AS name, 'user' AS role FROM people",
    );
    for (const args of [
      ['approve', '2'],
      ['request', '--account', '7', '--purpose', 'x', '--url', 'https://x.example'],
      ['reject', '3', '--reason', 'x'],
      ['reveal', '2'],
      ['rotate', '2'],
      ['revoke', '2', '--reason', 'x'],
      ['sign-in', 'seven@covers.example'],
      ['accounts'],
      ['outbox'],
      ['history', '2'],
    ]) {
      const { code, stderr } = await keys(...args);
      expect([args[0], code, code === 0 ? '' : stderr]).toEqual([args[0], 0, '']);
    }
    expect((await keys('outbox', '--json')).stdout.match(/seven@covers\.example/g)).toHaveLength(5);
    const asUser = await openDatabase(userUrl);
    for (const sql of ['UPDATE key_events SET reason = NULL', 'DELETE FROM key_events']) {
      await expect(asUser.run(sql)).rejects.toThrow(/denied/);
    }
    await asUser.close();
    await expect(admin.run('DELETE FROM key_events')).rejects.toThrow(/cannot be rewritten/);
  });

  it('without the right to add a column gets the statement for an administrator', async () => {
    await makeFirstTable(admin);
    await grant('SELECT, INSERT, UPDATE', '*');
    const refused = await keys('list');
    expect(refused.code).toBe(1);
    const statements = [...refused.stderr.matchAll(/ALTER TABLE api_keys ADD COLUMN [^;]+/g)];
    expect(statements.length).toBeGreaterThan(5);
    for (const [statement] of statements) await admin.run(statement);
    const next = await keys('list');
    expect([next.code, next.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^The table key_events cannot be created: .*denied.*OPERATIONS\.md lists\.\n$/,
      ),
    ]);
  });

  it('without the right to create triggers gets an error, unless it cannot change the history anyway', async () => {
    await createKeysTables(admin);
    await grant('SELECT, INSERT, UPDATE, DELETE', '*');
    expect((await keys('list')).code).toBe(0);
    for (const name of ['key_events_update', 'key_events_delete']) {
      await admin.run(`DROP TRIGGER ${name}`);
    }
    const refused = await keys('list');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^The trigger key_events_update, .* GRANT TRIGGER ON key_events /),
    ]);
    await admin.run(`REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${user}`);
    await grant('SELECT, INSERT', '*');
    expect((await keys('list')).code).toBe(0);
  });
});
