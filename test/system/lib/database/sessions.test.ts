/** Sessions on a server whose settings are somebody else's: what is read does not depend on them. */
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { database as check } from '#cli/doctor/checks/database.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { examine, faultsIn } from '#test/cli/doctor/examine.ts';
import { makeDatabase, makeDatabaseUser } from '#test/support/databases.ts';

const url = await makeDatabase('mysql');
const admin = await openDatabase(url);
// init_connect is not for users with all rights.
const user = await makeDatabaseUser(url);
await user.grant('ALL ON *');
await admin.run('CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, state VARCHAR(20))');
const GLOBALS = { autocommit: '1', completion_type: "'NO_CHAIN'", init_connect: "''" };

const setGlobal = (name: string, value: string) => admin.run(`SET GLOBAL ${name} = ${value}`);

let opened: Database | undefined;
const openAsUser = async () => {
  opened = await openDatabase(user.url);
  return opened;
};

beforeEach(async () => {
  await admin.run('DELETE FROM t');
  await admin.run("INSERT INTO t VALUES (1, 'approved'), (2, 'approved')");
});
afterEach(async () => {
  await opened?.close();
  for (const [name, value] of Object.entries(GLOBALS)) await setGlobal(name, value);
});
afterAll(() => admin.close());

test.each([
  ['autocommit', '0'],
  ['completion_type', "'CHAIN'"],
  ['init_connect', "'SET autocommit = 0'"],
  ['init_connect', "'START TRANSACTION WITH CONSISTENT SNAPSHOT'"],
])(
  'a session sees what others commit, and commits what it writes, with %s = %s',
  async (...global) => {
    await setGlobal(...global);
    const database = await openAsUser();
    const state = (of: Pick<Database, 'rows'>) => of.rows('SELECT state FROM t WHERE id = 1');
    // Each of these may leave a transaction behind.
    const steps = [
      () => state(database),
      () => database.snapshot(state),
      () => database.transaction(state),
      () => database.run("UPDATE t SET state = 'seen' WHERE id = 2"),
    ];
    for (const [number, step] of steps.entries()) {
      await step();
      await admin.run(`UPDATE t SET state = 'revoked ${number}' WHERE id = 1`);
      expect(await state(database)).toEqual([[`revoked ${number}`]]);
    }
    expect(await admin.rows('SELECT state FROM t WHERE id = 2')).toEqual([['seen']]);
  },
);

test('settings of the server cut no result, end no query, and change no value', async () => {
  await setGlobal(
    'init_connect',
    `'SET sql_select_limit = 1, max_join_size = 1, sql_big_selects = 0, sql_safe_updates = 1,
      sql_auto_is_null = 1, group_concat_max_len = 4, timestamp = 86400, time_zone = "+05:00",
      sql_mode = "NO_BACKSLASH_ESCAPES" /*M! , max_statement_time = 0.1 */
      /*!80000 , max_execution_time = 100 */;
      SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ ONLY; SET NAMES latin1'`,
  );
  const database = await openAsUser();
  expect((await database.run("INSERT INTO t (state) VALUES ('new'), ('é')")).changes).toBe(2);
  expect(await database.rows('SELECT id FROM t WHERE id IS NULL')).toEqual([]);
  expect(await database.rows("SELECT state FROM t WHERE state = 'é'")).toEqual([['é']]);
  const [[ids, moment] = []] = await database.rows('SELECT GROUP_CONCAT(id), NOW() FROM t');
  expect(String(ids)).toHaveLength('1,2,3,4'.length);
  expect(Math.abs(Date.parse(`${moment}Z`) - Date.now())).toBeLessThan(3_600_000);
  expect((await database.run("UPDATE t SET state = 'all'")).changes).toBe(4);
  expect(await database.rows('SELECT a.id FROM t AS a, t AS b')).toHaveLength(16);
  expect(await database.rows(`SELECT SLEEP(0.3) || 'ok'`)).toEqual([['0ok']]);
});

test('the doctor shows the settings of the server that the programs do not use', async () => {
  await setGlobal('autocommit', '0');
  await setGlobal('init_connect', "'SET sql_select_limit = 1'");
  const found = await examine(check, { DATABASE_URL: user.url });
  expect(faultsIn(found)).toEqual([]);
  const text = found.map((finding) => finding.text).join('\n');
  expect(text).toMatch(/settings .*autocommit = OFF.*init_connect = SET sql_select_limit = 1/);
  expect(text).not.toContain('wait_timeout = 28800');
});

const demandTls = async (demand: 'SSL' | 'NONE') => {
  await admin.run(`ALTER USER ${user.name} REQUIRE ${demand}`);
};
const encrypted = `${user.url.replace('127.0.0.1', 'localhost')}?ssl=true`;

test('a user that must use TLS is told so, and that the certificate is not trusted', async () => {
  await demandTls('SSL');
  await expect(openDatabase(user.url)).rejects.toThrow('append ?ssl=true to DATABASE_URL');
  await expect(openDatabase(encrypted)).rejects.toThrow(/is not trusted .*NODE_EXTRA_CA_CERTS/);
  await demandTls('NONE');
});

// MySQL makes its own certificate, which is for no host.
test.skipIf(process.env.TEST_DATABASE === 'mysql')(
  'a certificate of an own authority is trusted once Node knows it',
  async () => {
    await demandTls('SSL');
    const [[file] = []] = await admin.rows('SELECT @@ssl_cert');
    const trusted = getCACertificates('default');
    // As NODE_EXTRA_CA_CERTS does at the start of a program.
    setDefaultCACertificates([...trusted, readFileSync(String(file), 'utf8')]);
    try {
      opened = await openDatabase(encrypted);
    } finally {
      setDefaultCACertificates(trusted);
      await demandTls('NONE');
    }
    const status = await opened.rows("SHOW STATUS LIKE 'Ssl_version'");
    expect(status).toEqual([['Ssl_version', expect.stringContaining('TLS')]]);
  },
);
