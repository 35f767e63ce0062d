/** The keys in memory as they follow the real `keys.json`: what was counted stays with its key. */
import { beforeEach, expect, test } from 'vitest';
import { makeKeyStore } from '../../../proxy/keys/key-store.ts';
import {
  writeKeys as exportKeys,
  makeFolder,
  type TestKey,
  testKey,
} from '../../support/product.ts';

const MINUTE = 60_000;

let dir: string;
let store: ReturnType<typeof makeKeyStore>;
let time: number;

beforeEach(() => {
  dir = makeFolder();
  store = makeKeyStore(dir, () => {});
  time = 1e6;
});

async function replaceKeys(keys: readonly TestKey[]): Promise<void> {
  exportKeys(dir, keys);
  expect(await store.refresh()).toBe(true);
}

/** Asks so often. @returns how many requests were admitted, and what the last was told */
function use(key: TestKey, times: number) {
  const record = store.find(key.key);
  if (record === undefined) throw new Error('The key is not known.');
  const quotas = Array.from({ length: times }, () => store.admit(record, time++));
  const { limit, remaining } = quotas[times - 1];
  return { admitted: quotas.filter((quota) => quota.admitted).length, limit, remaining };
}

test('a key whose limit is raised keeps what was already counted, once and again', async () => {
  const key = testKey(1, { limit: 10 });
  await replaceKeys([key]);
  const record = store.find(key.key);
  expect(use(key, 12)).toEqual({ admitted: 10, limit: 10, remaining: 0 });
  await replaceKeys([{ ...key, limit: 25 }]);
  expect(store.find(key.key)).toBe(record);
  // The day of its last use, and the check against guessing, depend on this time.
  expect(record?.window.lastAdmitted()).toBe(1e6 + 9);
  expect(use(key, 20)).toEqual({ admitted: 15, limit: 25, remaining: 0 });
  await replaceKeys([{ ...key, limit: 1_000 }]);
  expect(use(key, 5)).toEqual({ admitted: 5, limit: 1_000, remaining: 970 });
  // Each leaves the window a minute after it was admitted, not after the move.
  time = 1e6 + MINUTE + 9;
  expect(use(key, 1)).toEqual({ admitted: 1, limit: 1_000, remaining: 979 });
});

test('a limit that is lowered and raised again has forgotten nothing', async () => {
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

test('one key does not count for another, nor for the key that takes its row', async () => {
  const keys = [testKey(1, { limit: 5 }), testKey(2, { limit: 5 })];
  await replaceKeys(keys);
  expect(use(keys[0], 5).admitted).toBe(5);
  expect(use(keys[1], 1).remaining).toBe(4);
  const rotated = testKey(1, { limit: 5 });
  await replaceKeys([rotated, keys[1]]);
  expect(use(rotated, 1).remaining).toBe(4);
  expect(store.find(keys[0].key)).toBe(undefined);
  // The same hash in another row, after the table was rewritten.
  await replaceKeys([{ ...rotated, id: 7 }, keys[1]]);
  expect(use(rotated, 1).remaining).toBe(4);
  expect(use(keys[1], 1).remaining).toBe(3);
});

test('windows that were handed over count as if they had never been away', async () => {
  const keys = [testKey(1, { limit: 5 }), testKey(2, { limit: 5 })];
  await replaceKeys(keys);
  use(keys[0], 3);
  const saved = store.windows(time);
  expect(saved.map(({ id, times }) => [id, times])).toEqual([[1, [1e6, 1e6 + 1, 1e6 + 2]]]);
  store = makeKeyStore(dir, () => {}, saved);
  expect(await store.refresh()).toBe(true);
  expect(use(keys[0], 1)).toMatchObject({ admitted: 1, remaining: 1 });
  expect(use(keys[1], 1)).toMatchObject({ admitted: 1, remaining: 4 });
  expect(store.windows(time + 2 * MINUTE)).toEqual([]);
});

test('a key that is gone is refused, and is in force again when it returns', async () => {
  const key = testKey(1, { limit: 10 });
  await replaceKeys([key]);
  const before = store.find(key.key);
  expect(store.recent(key.key)).toBe(before);
  await replaceKeys([]);
  expect(before?.state).toBe('revoked');
  expect(store.find(key.key)).toBeUndefined();
  await replaceKeys([key]);
  // As a request does: the cache of raw keys first.
  const after = store.recent(key.key) ?? store.find(key.key);
  expect(after?.state).toBe('approved');
});
