/** The keys in memory follow a real `keys.json`, and the counted requests stay with their key. */
import { beforeEach, expect, test } from 'vitest';
import { type KeyStore, makeKeyStore } from '#proxy/admit/keys/key-store.ts';
import { isValid, type KeyTable, makeKeyTable } from '#proxy/admit/keys/key-table.ts';
import {
  writeKeys as exportKeys,
  makeFolder,
  type TestKey,
  testKey,
} from '#test/support/product.ts';

const MINUTE = 60_000;

let dir: string;
let store: KeyStore;
let table: KeyTable;
let time: number;

beforeEach(() => {
  dir = makeFolder();
  table = makeKeyTable();
  store = makeKeyStore(dir, table.replace, () => time);
  time = 1e6;
});

async function replaceKeys(keys: readonly TestKey[]): Promise<void> {
  exportKeys(dir, keys);
  await store.refresh();
}

/** Counts requests. @returns how many were admitted, and the limit and the remaining requests after them */
function use(key: TestKey, times: number) {
  const record = table.find(key.key);
  if (record === undefined) throw new Error('The key is not known.');
  const quotas = Array.from({ length: times }, () => record.window.admit(record.limit, time++));
  const { limit, remaining } = quotas[times - 1];
  return { admitted: quotas.filter((quota) => quota.admitted).length, limit, remaining };
}

test('a key keeps its counted requests each time its limit is raised', async () => {
  const key = testKey(1, { limit: 10 });
  await replaceKeys([key]);
  const record = table.find(key.key);
  expect(use(key, 12)).toEqual({ admitted: 10, limit: 10, remaining: 0 });
  await replaceKeys([{ ...key, limit: 25 }]);
  expect(table.find(key.key)).toBe(record);
  // Key usage and the exemption from the limit on guesses depend on this time.
  expect(record?.window.lastAdmitted()).toBe(1e6 + 9);
  expect(use(key, 20)).toEqual({ admitted: 15, limit: 25, remaining: 0 });
  await replaceKeys([{ ...key, limit: 1_000 }]);
  expect(use(key, 5)).toEqual({ admitted: 5, limit: 1_000, remaining: 970 });
  // Each request leaves the window a minute after it was admitted, not after the change of the limit.
  time = 1e6 + MINUTE + 9;
  expect(use(key, 1)).toEqual({ admitted: 1, limit: 1_000, remaining: 979 });
});

test('a key keeps its counted requests if its limit is lowered and raised again', async () => {
  const key = testKey(1, { limit: 10 });
  await replaceKeys([key]);
  expect(use(key, 8).admitted).toBe(8);
  await replaceKeys([{ ...key, limit: 3 }]);
  expect(use(key, 2)).toEqual({ admitted: 0, limit: 3, remaining: 0 });
  await replaceKeys([{ ...key, limit: 10 }]);
  expect(use(key, 5)).toEqual({ admitted: 2, limit: 10, remaining: 0 });
  await replaceKeys([{ ...key, limit: 11 }]);
  expect(use(key, 5)).toEqual({ admitted: 1, limit: 11, remaining: 0 });
});

test('a key and the old one that still works after a rotation count in one window', async () => {
  const [now, old] = [testKey(1, { limit: 5 }), testKey(1, { limit: 5 })];
  await replaceKeys([now, old]);
  expect(store.size()).toBe(1);
  expect(use(old, 3).remaining).toBe(2);
  expect(use(now, 3)).toEqual({ admitted: 2, limit: 5, remaining: 0 });
  await replaceKeys([now]);
  expect(table.find(old.key)).toBe(undefined);
  expect(use(now, 1).remaining).toBe(0);
});

test('an old key stops working at its end, also if nobody writes the file', async () => {
  const endsAt = Date.UTC(2026, 0, 2);
  const old = testKey(1, { ends_at: new Date(endsAt).toISOString() });
  await replaceKeys([testKey(1), old]);
  const record = table.find(old.key);
  const worksAt = (now: number) => record !== undefined && isValid(record, () => now);
  expect([worksAt(endsAt - 1), worksAt(endsAt)]).toEqual([true, false]);
});

test('the requests of a key count after it is rotated, and not for another key', async () => {
  const keys = [testKey(1, { limit: 5 }), testKey(2, { limit: 5 })];
  await replaceKeys(keys);
  expect(use(keys[0], 5).admitted).toBe(5);
  expect(use(keys[1], 1).remaining).toBe(4);
  const rotated = testKey(1, { limit: 7 });
  await replaceKeys([rotated, keys[1]]);
  expect(use(rotated, 3)).toEqual({ admitted: 2, limit: 7, remaining: 0 });
  expect(table.find(keys[0].key)).toBe(undefined);
  // The same hash with another id, for example after the table was rebuilt.
  await replaceKeys([{ ...rotated, id: 7 }, keys[1]]);
  expect(use(rotated, 1).remaining).toBe(6);
  expect(use(keys[1], 1).remaining).toBe(3);
});

test('a key that is missing from the file is refused, and valid again when it is back', async () => {
  const key = testKey(1, { limit: 10 });
  await replaceKeys([key]);
  const before = table.find(key.key);
  expect(table.find(key.key)).toBe(before);
  await replaceKeys([]);
  expect(before?.state).toBe('revoked');
  expect(table.find(key.key)).toBeUndefined();
  await replaceKeys([key]);
  expect(table.find(key.key)?.state).toBe('approved');
});
