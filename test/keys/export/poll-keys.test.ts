/**
 * The export of keys by the schedule: what `keys.json` contains and how old it says it is, while all is well,
 * and while the database or the file cannot be used. Keys that are lost with their table keep working, here and at
 * replicas, until an operator restores them or accepts the loss.
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
import { decideKeys } from '#keys/export/export-keys.ts';
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

/** Replicas without signatures, which report no usage. */
function replicasOf(depot: WritableDepot) {
  const send = makeKeysSender(depot, undefined, Date.now, expect.unreachable);
  return { name: depot.name, send, importUsage: async () => {} };
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
  const content = encodeKeys([entry(1)]);
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

test('keys that are lost with their table keep working here and at replicas, until that is accepted', async () => {
  const stored = openWritableDepot(newDepotFolder());
  let onPut = () => {};
  const depot: WritableDepot = {
    ...stored,
    async put(...object) {
      await stored.put(...object);
      onPut();
    },
  };
  const { url, database, insert, now, file, log, registry, keys } = await startPolling(depot);
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
    return keys().map(({ id, state, lost }) => `${id} ${lost ? 'lost ' : ''}${state}`);
  };
  const accept = (...ids: string[]) =>
    runKeys(url, ['accept-loss', ...ids], { SNAPSHOTS_DIR: path.dirname(file) });
  for (const state of ['approved', 'approved', 'approved', 'approved', 'revoked']) {
    await insert(state);
  }
  expect(await states()).toEqual(expect.arrayContaining(['1 approved', '4 approved', '5 revoked']));
  expect(await accept()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no lost keys'),
  });

  await database.run('DROP TABLE api_keys');
  const lost = ['1', '2', '3', '4'].map((id) => `${id} lost approved`).concat('5 lost revoked');
  expect(await states()).toEqual(lost);
  expect(await registry.metrics()).toContain('schedule_keys_lost 5\n');
  expect(log()).toContain(`lacks 5 of the keys in ${file}`);
  // "account" creates the table again. A request is not a key, and does not end the one with its id.
  await createKeysTables(database);
  await insert('pending', null);
  expect(await states()).toEqual(lost);
  // New keys do, and the others stay lost, however many there are.
  for (let id = 2; id <= 3; id++) await insert('approved');
  await database.run("UPDATE api_keys SET state = 'revoked' WHERE id = 3");
  const mixed = [lost[0], '2 approved', '3 revoked', lost[3], lost[4]];
  expect(await states()).toEqual(mixed);

  // A lost key whose id a request has gets another one, and not that of another lost key.
  expect(await accept('1')).toMatchObject({ code: 0, stderr: 'Lost keys that are revoked: 1.\n' });
  expect(await states()).toEqual([...mixed.slice(1), '6 revoked']);
  expect((await accept()).code).toBe(0);
  expect(await states()).toEqual([
    '2 approved',
    '3 revoked',
    '4 revoked',
    '5 revoked',
    '6 revoked',
  ]);
  expect(await registry.metrics()).toContain('schedule_keys_lost 0\n');
});

const entry = (id: number): KeyEntry => {
  return { id, hash: hashKey(makeKey()), state: 'approved', limit: 120 };
};
const [first, second, third] = [entry(1), entry(2), entry(3)];
const revoked = { ...first, state: 'revoked' } as const;
const rotated = [entry(1), entry(2), entry(3)];

test.each<[string, KeyEntry[], KeyEntry[], KeyEntry[]]>([
  ['all are gone', [first, second], [], [first, second]],
  ['the only key is gone', [first], [], [first]],
  ['fewer than half are there', [first, second, third], [revoked], [second, third]],
  ['half are there', [first, second], [second], []],
  ['all are rotated', [first, second, third], rotated, []],
  ['there were no keys before', [], [first], []],
  ['all are revoked', [first], [revoked], []],
  ['the lost keys have other ids now', [first, second], [{ ...revoked, id: 7 }], [second]],
  [
    'a lost key stays, and the table fills again',
    [{ ...first, lost: true }, second],
    [second],
    [first],
  ],
  ['a lost key is back', [{ ...first, lost: true }], [revoked], []],
])(
  'if %s, rows are exported, and keys without a row only kept if the table was lost',
  (_, known, rows, kept) => {
    const values = rows.map(({ id, hash, state, limit }) => [id, hash, state, limit]);
    expect(decideKeys(values, known)).toEqual({
      content: encodeKeys([...rows, ...kept.map((key) => ({ ...key, lost: true as const }))]),
      lost: kept.length,
    });
  },
);

test('an old key is exported with its end, and left out if the end cannot be read', () => {
  const { id, hash, state, limit } = first;
  const decide = (endsAt: string) => decideKeys([[id, hash, state, limit, endsAt]], []).content;
  const ends_at = '2026-01-02T00:00:00Z';
  expect(decide('2026-01-02 00:00:00')).toBe(encodeKeys([{ ...first, ends_at }]));
  expect(decide('soon')).toBe(encodeKeys([]));
});
