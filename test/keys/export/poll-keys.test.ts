/**
 * The export of keys by the schedule: what `keys.json` contains and how old it says it is, while all is well,
 * and while the database or the file cannot be used. Keys that are lost with the database keep working, until an
 * operator restores or removes them.
 */
import { mkdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { writeKeys } from '#keys/export/export-keys.ts';
import { pollKeys } from '#keys/export/poll-keys.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { hashKey, makeKey } from '#lib/format/api-key.ts';
import { encodeKeys, type KeyEntry, parseKeys } from '#lib/format/keys-file.ts';
import { makeTasks } from '#lib/program/admin/tasks.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeLog } from '#test/support/log.ts';
import { makeFolder } from '#test/support/product.ts';

const LONG_AGO = new Date('2001-02-03T04:05:06Z');

async function startPolling() {
  const url = await makeDatabase('sqlite');
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  const database = await openDatabase(url);
  const log = makeLog();
  const polling = pollKeys({
    databaseUrl: url,
    snapshotsDir,
    depot: undefined,
    signingKey: undefined,
    tasks: makeTasks(new Registry()),
    log: pino({}, log),
  });
  atEndOfFile(async () => {
    await polling.stop();
    await database.close();
  });
  await polling.now();
  const file = path.join(snapshotsDir, 'keys.json');
  return {
    database,
    file,
    now: polling.now,
    log: log.text,
    keys: () => parseKeys(readFileSync(file, 'utf8')),
    isOld: () => statSync(file).mtimeMs === LONG_AGO.getTime(),
    makeOld: () => utimesSync(file, LONG_AGO, LONG_AGO),
    async addKey(state: string, hash = hashKey(makeKey())): Promise<string> {
      await createKeysTables(database);
      await database.run(
        "INSERT INTO api_keys (purpose, website_url, state, limit_per_minute, key_hash, requested_at) VALUES ('a test', '', ?, 60, ?, '2026-01-01 00:00:00')",
        [state, hash],
      );
      return hash;
    },
  };
}

test('the file has each decided key, and only its owner may read it', async () => {
  const { addKey, now, keys, file } = await startPolling();
  const expected: object[] = [];
  for (const state of ['approved', 'rejected', 'revoked', 'pending']) {
    const hash = await addKey(state);
    if (state !== 'pending') expected.push({ hash, state, limit: 60 });
    await now();
    expect(keys()).toMatchObject(expected);
  }
  // It does not prevent the export of the others.
  await addKey('approved', 'no hash');
  expected.push({ hash: await addKey('approved') });
  await now();
  expect(keys()).toMatchObject(expected);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('the file gets a new time even if no key changed, but not while the database cannot be read', async () => {
  const { database, addKey, now, file, log, isOld, makeOld } = await startPolling();
  await addKey('approved');
  await now();
  const content = readFileSync(file, 'utf8');
  const { ino } = statSync(file);
  makeOld();
  await now();
  expect(isOld()).toBe(false);
  expect(statSync(file).ino).toBe(ino);

  await database.run('ALTER TABLE api_keys RENAME COLUMN key_hash TO elsewhere');
  makeOld();
  for (let i = 0; i < 3; i++) await now();
  expect(isOld()).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe(content);
  // It is logged when the outage begins, not at every attempt.
  expect(log().match(/the keys file is not updated: /g)).toHaveLength(1);

  await database.run('ALTER TABLE api_keys RENAME COLUMN elsewhere TO key_hash');
  await now();
  expect(isOld()).toBe(false);
  expect(log().match(/the keys file is updated again/g)).toHaveLength(1);
});

test('a file that cannot be written and keys that are lost are logged as such', async () => {
  const { database, addKey, now, file, log, keys } = await startPolling();
  const hash = await addKey('approved');
  await now();
  rmSync(file);
  mkdirSync(path.join(file, 'x'), { recursive: true });
  await now();
  expect(log()).toContain('the keys file is not updated: write keys.json');
  rmSync(file, { recursive: true });
  await now();
  expect(keys()).toMatchObject([{ hash }]);
  expect(log()).toContain('the keys file is updated again');
  // And keys that are lost stay in the file.
  await database.run('DROP TABLE api_keys');
  await now();
  expect(log()).toContain('none of the 1 keys');
  expect(keys()).toMatchObject([{ hash }]);
});

const entry = (id: number): KeyEntry => {
  return { id, hash: hashKey(makeKey()), state: 'approved', limit: 120 };
};
const [first, second] = [entry(1), entry(2)];

test.each<[string, boolean, KeyEntry[], KeyEntry[]]>([
  ['all are gone', false, [first, second], []],
  ['others have their ids', false, [first, second], [entry(1), entry(2)]],
  ['the only key is rotated', true, [first], [entry(1)]],
  ['one of two keys is left', true, [first, second], [second]],
  ['there were no keys before', true, [], []],
  ['all keys are revoked', true, [first], [{ ...first, state: 'revoked' }]],
])('if %s, whether the keys are exported: %s', (_, isExported, before, after) => {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  mkdirSync(snapshotsDir, { mode: 0o700 });
  const file = path.join(snapshotsDir, 'keys.json');
  writeKeys(encodeKeys(before), snapshotsDir);
  const write = () => writeKeys(encodeKeys(after), snapshotsDir);
  if (isExported) write();
  else {
    expect(write).toThrow(`none of the 2 keys in ${file}`);
    expect(readFileSync(file, 'utf8')).toBe(encodeKeys(before));
    // The operator removes them.
    rmSync(file);
    expect(write()).toBe(true);
  }
  expect(readFileSync(file, 'utf8')).toBe(encodeKeys(after));
});
