/** What `/readyz` and `/metrics` say about a replica in the same snapshots folder. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { currentId } from '#lib/generations/generations.ts';
import { saveReplicaState } from '#lib/generations/state-files.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';
import { statusOf } from '#test/support/wholeness.ts';

/** The wall clock stands still, a minute after the run that made the generation. */
const AGE = 60;
const dir = await makeSampleSnapshots([testKey(1)]);
const { current_as_of: at } = statusOf(dir);
vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(at) + AGE * 1000 });
const proxy = await startProxy(dir, {}, NEVER);
afterAll(() => {
  vi.useRealTimers();
});
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
const readReplica = async () => (await proxy.readyz()).json.replica;
const metricsOf = async () =>
  (await proxy.metrics()).split('\n').filter((line) => line.startsWith('replica_'));

test('without a replica, there is nothing about one', async () => {
  expect(await readReplica()).toBe(null);
  expect(await metricsOf()).toEqual([]);
});

test('they show the ages, the errors and the refusals of a replica', async () => {
  const refused = { at: ago(30), error: 'The pointer is not signed.' };
  const id = currentId(dir) as string;
  const from = 's3://covers/api';
  const published_at = ago(5000);
  const keys = { from: 's3://keys', error: 'no reply', refused: null };
  saveReplicaState(dir, {
    snapshot: { from, current_as_of: ago(40), id, published_at, error: null, refused },
    keys: { ...keys, current_as_of: ago(7) },
  });
  const { json, status } = await proxy.readyz();
  // A replica whose depot is gone still serves.
  expect([status, json.ready]).toEqual([200, true]);
  expect(json.replica).toEqual({
    ...{ from, age_seconds: 40, published_at, error: null, refused },
    keys: { ...keys, age_seconds: 7 },
  });
  expect(await metricsOf()).toEqual([
    'replica_age_seconds{part="snapshot"} 40',
    'replica_age_seconds{part="keys"} 7',
    'replica_refused{part="snapshot"} 1',
    'replica_refused{part="keys"} 0',
  ]);
});

test('the age of the data is the time since the replica was last equal to its depot', async () => {
  const id = currentId(dir) as string;
  const snapshot = { from: 'x', error: null, refused: null, published_at: ago(5000) };
  const age = async (seconds: number, of: string) => {
    const current_as_of = ago(seconds);
    saveReplicaState(dir, { snapshot: { ...snapshot, current_as_of, id: of }, keys: null });
    return (await proxy.readyz()).json.snapshot_age_seconds;
  };
  expect(await age(4000, id)).toBe(AGE);
  expect(await age(AGE - 10, id)).toBe(AGE - 10);
  expect(await age(-1000, id)).toBe(0);
  // The confirmation of another generation says nothing about this one.
  expect(await age(-1000, '999999-0123456789ab')).toBe(AGE);
});

test('a state file that is damaged is ignored', async () => {
  for (const text of ['', '{', '{"version":2}', '{"version":1,"snapshot":{},"keys":null}']) {
    writeFileSync(path.join(dir, 'replica.json'), text);
    expect(await readReplica()).toBe(null);
  }
});
