/**
 * The export of keys by the schedule: what `keys.json` contains and how old it says it is, while all is well,
 * while the database or the file cannot be used, and when the keys are lost.
 */
import { mkdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { hashKey, makeKey } from '../../../format/api-key.ts';
import { parseKeys } from '../../../format/keys-file.ts';
import { pollKeys } from '../../../generator/keys/poll-keys.ts';
import { createKeysTables } from '../../../keys/tables/schema.ts';
import { makeTasks } from '../../../program/admin/tasks.ts';
import { makeDatabase } from '../../support/databases.ts';
import { atEndOfFile } from '../../support/end-of-file.ts';
import { makeLog } from '../../support/log.ts';
import { makeFolder } from '../../support/product.ts';

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
    modifiedAt: () => statSync(file).mtimeMs,
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

const isLongAgo = (milliseconds: number) => milliseconds === LONG_AGO.getTime();

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
  const { database, addKey, now, file, log, modifiedAt, makeOld } = await startPolling();
  await addKey('approved');
  await now();
  const content = readFileSync(file, 'utf8');
  const { ino } = statSync(file);
  makeOld();
  await now();
  expect(isLongAgo(modifiedAt())).toBe(false);
  expect(statSync(file).ino).toBe(ino);

  await database.run('ALTER TABLE api_keys RENAME COLUMN key_hash TO elsewhere');
  makeOld();
  for (let i = 0; i < 3; i++) await now();
  expect(isLongAgo(modifiedAt())).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe(content);
  // It is logged when the outage begins, not at every attempt.
  expect(log().match(/the keys file is not updated: /g)).toHaveLength(1);

  await database.run('ALTER TABLE api_keys RENAME COLUMN elsewhere TO key_hash');
  await now();
  expect(isLongAgo(modifiedAt())).toBe(false);
  expect(log().match(/the database is back/g)).toHaveLength(1);
  expect(log()).not.toContain('the keys can be written again');
});

test('after a failed write of the file, the log does not claim that the database is back', async () => {
  const { addKey, now, file, log, keys } = await startPolling();
  const hash = await addKey('approved');
  await now();
  rmSync(file);
  mkdirSync(path.join(file, 'x'), { recursive: true });
  await now();
  expect(log()).toContain('the keys file is not updated: write keys.json');
  rmSync(file, { recursive: true });
  await now();
  expect(keys()).toMatchObject([{ hash }]);
  expect(log()).toContain('the keys can be written again');
  expect(log()).not.toContain('the database is back');
});

test('keys that are lost stay in the file, and the log says so', async () => {
  const { database, addKey, now, file, log } = await startPolling();
  await addKey('approved');
  await now();
  const before = readFileSync(file, 'utf8');
  await database.run('DROP TABLE api_keys');
  await now();
  expect(log()).toContain('none of the 1 keys');
  expect(readFileSync(file, 'utf8')).toBe(before);
});
