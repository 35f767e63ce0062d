/**
 * The export of keys by the schedule: what `keys.json` contains and how old it says it is, while all is well,
 * and while the database or the file cannot be used. While most keys are gone from their table, nothing is exported.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { WritableDepot } from '#depot/depot.ts';
import { makeKeysSender } from '#depot/keys.ts';
import { openWritableDepot } from '#depot/open.ts';
import { encodeRows } from '#keys/export/export-keys.ts';
import { KeysPolls } from '#keys/export/poll-keys.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { hashKey, makeKey } from '#lib/format/api-key.ts';
import { encodeKeys, type KeyEntry, parseKeys } from '#lib/format/keys-file.ts';
import { makeTasks } from '#lib/program/admin/tasks.ts';
import { disturbed, noSpace } from '#test/lib/generations/disk.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeLog } from '#test/support/log.ts';
import { makeFolder, runKeys } from '#test/support/product.ts';
import { newDepotFolder, startReplica } from '#test/support/replicas.ts';

const LONG_AGO = new Date('2001-02-03T04:05:06Z');

/** Replicas without signatures. */
function replicasOf(depot: WritableDepot) {
  const send = makeKeysSender(depot, undefined, Date.now, expect.unreachable);
  return { name: depot.name, send };
}

async function startPolling(depot?: WritableDepot) {
  const url = await makeDatabase('sqlite');
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  const database = await openDatabase(url);
  const log = makeLog();
  const registry = new Registry();
  const polling = new KeysPolls({
    databaseUrl: url,
    snapshotsDir,
    replicas: depot && replicasOf(depot),
    registry,
    tasks: makeTasks(registry),
    log: pino({}, log),
  });
  atEndOfFile(async () => {
    await polling.stop();
    await database.close();
  });
  await polling.now();
  const file = path.join(snapshotsDir, 'keys.json');
  async function insert(state: string, hash: string | null = hashKey(makeKey())) {
    await createKeysTables(database);
    await database.run(
      "INSERT INTO api_keys (purpose, website_url, state, limit_per_minute, key_hash, requested_at) VALUES ('a test', '', ?, 60, ?, '2026-01-01 00:00:00')",
      [state, hash],
    );
  }
  return {
    url,
    database,
    registry,
    insert,
    file,
    now: () => polling.now(),
    log: log.text,
    keys: () => parseKeys(readFileSync(file, 'utf8')),
    isOld: () => statSync(file).mtimeMs === LONG_AGO.getTime(),
    makeOld: () => utimesSync(file, LONG_AGO, LONG_AGO),
    async addKey(state: string, hash = hashKey(makeKey())): Promise<string> {
      await insert(state, hash);
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

test('a file that cannot be written is logged as such', async () => {
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
  expect(log()).toContain('the keys file is updated again');
});

test('on a full disk a key is revoked in the space of a reserve, which is kept again when there is space', async () => {
  const { database, insert, now, file, keys } = await startPolling();
  const reserve = path.join(path.dirname(file), 'reserve');
  await insert('approved');
  await now();
  const { mode, size } = statSync(reserve);
  expect(mode & 0o777).toBe(0o600);
  expect(size).toBeGreaterThan(statSync(file).size);
  const refuse = () => {
    if (existsSync(reserve)) noSpace();
  };
  await disturbed('writeFileSync', /keys\.json$|reserve$/, refuse, async () => {
    await database.run("UPDATE api_keys SET state = 'revoked'");
    await now();
  });
  expect(keys()).toMatchObject([{ state: 'revoked' }]);
  expect(existsSync(reserve)).toBe(false);
  await now();
  expect(statSync(reserve).size).toBeGreaterThan(statSync(file).size);
});

test('replicas get the keys of an earlier export if the database is away from the start', async () => {
  const snapshotsDir = makeFolder();
  const content = encodeKeys([{ id: 1, hash: 'a'.repeat(64), state: 'approved', limit: 120 }]);
  writeFileSync(path.join(snapshotsDir, 'keys.json'), content);
  const depot = openWritableDepot(newDepotFolder());
  const log = makeLog();
  const registry = new Registry();
  const polling = new KeysPolls({
    databaseUrl: `sqlite://${snapshotsDir}/missing.db`,
    snapshotsDir,
    replicas: replicasOf(depot),
    registry,
    tasks: makeTasks(registry),
    log: pino({}, log),
  });
  await log.logged('sent the keys to replicas');
  expect(log.text()).toContain('the keys file is not updated');
  const replica = startReplica(depot, { keysDepot: depot });
  await replica.checkKeys();
  expect(readFileSync(path.join(replica.snapshotsDir, 'keys.json'), 'utf8')).toBe(content);
  await polling.stop();
});

test('while most keys are gone from the table, nothing is exported, here or to replicas, until an operator forces it', async () => {
  const stored = openWritableDepot(newDepotFolder());
  let onPut = () => {};
  const depot: WritableDepot = {
    ...stored,
    async put(...object) {
      await stored.put(...object);
      onPut();
    },
  };
  const { url, database, insert, now, file, log, registry, keys, isOld, makeOld } =
    await startPolling(depot);
  const replica = startReplica(stored, { keysDepot: stored });
  const textOf = (snapshotsDir: string) =>
    readFileSync(path.join(snapshotsDir, 'keys.json'), 'utf8');
  /** The states by id, once the replica has the same keys. */
  const states = async () => {
    await now();
    for (;;) {
      const isPut = new Promise<void>((resolve) => {
        onPut = resolve;
      });
      const hasKeys = await replica.checkKeys().then(
        () => textOf(replica.snapshotsDir) === textOf(path.dirname(file)),
        () => false,
      );
      if (hasKeys) break;
      await isPut;
    }
    return keys().map(({ id, state }) => `${id} ${state}`);
  };
  const exportNow = (...words: string[]) =>
    runKeys(url, ['export', ...words], { SNAPSHOTS_DIR: path.dirname(file) });
  for (const state of ['approved', 'approved', 'approved', 'approved', 'revoked']) {
    await insert(state);
  }
  const before = ['1 approved', '2 approved', '3 approved', '4 approved', '5 revoked'];
  expect(await states()).toEqual(before);

  await database.run('DROP TABLE api_keys');
  makeOld();
  for (let i = 0; i < 3; i++) expect(await states()).toEqual(before);
  // Its age is that of the keys, so that other alerts notice it, too.
  expect(isOld()).toBe(true);
  expect(await registry.metrics()).toContain('schedule_keys_lost 5\n');
  expect(log().match(/5 of the 5 keys in [^ ]+ are not in the table api_keys/g)).toHaveLength(1);
  // "account" creates the table again. A request is not a key, and does not stand for the one with its id.
  await createKeysTables(database);
  await insert('pending', null);
  await insert('approved');
  await insert('approved');
  await database.run("UPDATE api_keys SET state = 'revoked' WHERE id = 3");
  expect(await states()).toEqual(before);
  expect(await registry.metrics()).toContain('schedule_keys_lost 3\n');
  const refused = { code: 1, stderr: expect.stringContaining('keys export --force') };
  expect(await exportNow()).toMatchObject(refused);
  expect(await states()).toEqual(before);

  expect(await exportNow('--force')).toMatchObject({ code: 0 });
  expect(await states()).toEqual(['2 approved', '3 revoked']);
  expect(await registry.metrics()).toContain('schedule_keys_lost 0\n');
  expect(await exportNow()).toMatchObject({ code: 0 });
});

test.each([
  [1, 1, 'stop working'],
  [3, 3, 'stop working'],
  [4, 2, 'stop working'],
  [4, 3, 'keep working'],
  [7, 4, 'keep working'],
])('of %i keys, %i whose rows are deleted %s', async (count, deleted, outcome) => {
  const { database, insert, now, keys } = await startPolling();
  for (let i = 0; i < count; i++) await insert('approved');
  await now();
  // A rotated key is the same key.
  await database.run('UPDATE api_keys SET key_hash = ? WHERE id = ?', [hashKey(makeKey()), count]);
  await database.run('DELETE FROM api_keys WHERE id <= ?', [deleted]);
  await now();
  expect(keys()).toHaveLength(outcome === 'stop working' ? count - deleted : count);
});

test('an old key is exported with its end, and left out if the end cannot be read', () => {
  const key: KeyEntry = { id: 1, hash: hashKey(makeKey()), state: 'approved', limit: 120 };
  const { id, hash, state, limit } = key;
  const encode = (endsAt: string) => encodeRows([[id, hash, state, limit, endsAt]]);
  const ends_at = '2026-01-02T00:00:00Z';
  expect(encode('2026-01-02 00:00:00')).toBe(encodeKeys([{ ...key, ends_at }]));
  expect(encode('soon')).toBe(encodeKeys([]));
});
