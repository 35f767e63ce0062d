/** What `/readyz` and `/metrics` say about a replica in the same snapshots folder. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { ReplicaState } from '../../../format/replica-file.ts';
import { currentId } from '../../../generations/generations.ts';
import { saveReplicaState } from '../../../generations/state-files.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { NEVER, type RunningProxy, startProxy, testKey } from '../../support/product.ts';

import { statusOf } from '../../support/wholeness.ts';

/** The wall clock stands still, a minute after the run that made the generation. */
const AGE = 60;
let dir: string;
let proxy: RunningProxy;
beforeAll(async () => {
  dir = await makeSampleSnapshots([testKey(1)]);
  const { current_as_of: at } = statusOf(dir);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(at) + AGE * 1000 });
  proxy = await startProxy(dir, {}, NEVER);
});
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
  const state: ReplicaState = {
    snapshot: {
      from: 's3://covers/api',
      current_as_of: ago(40),
      id,
      published_at: ago(5000),
      error: null,
      refused,
    },
    keys: { from: 's3://keys', current_as_of: ago(7), error: 'no reply', refused: null },
  };
  saveReplicaState(dir, state);
  const { json, status } = await proxy.readyz();
  // A replica whose store is gone still serves.
  expect([status, json.ready]).toEqual([200, true]);
  expect(json.replica).toEqual({
    from: 's3://covers/api',
    age_seconds: 40,
    published_at: state.snapshot.published_at,
    error: null,
    refused,
    keys: { from: 's3://keys', age_seconds: 7, error: 'no reply', refused: null },
  });
  expect(await metricsOf()).toEqual([
    'replica_age_seconds{part="snapshot"} 40',
    'replica_age_seconds{part="keys"} 7',
    'replica_refused{part="snapshot"} 1',
    'replica_refused{part="keys"} 0',
  ]);
});

test('the age of the data is the time since the replica was last equal to its store', async () => {
  const id = currentId(dir) as string;
  const snapshot = { from: 'x', error: null, refused: null, published_at: ago(5000) };
  const age = async (current_as_of: string, of: string) => {
    saveReplicaState(dir, { snapshot: { ...snapshot, current_as_of, id: of }, keys: null });
    return (await proxy.readyz()).json.snapshot_age_seconds;
  };
  const sinceTheRun = await age(ago(4000), id);
  expect(sinceTheRun).toBe(AGE);
  expect(await age(ago(AGE - 10), id)).toBe(AGE - 10);
  expect(await age(new Date(Date.now() + 1_000_000).toISOString(), id)).toBe(0);
  // The confirmation of another generation says nothing about this one.
  const other = await age(new Date(Date.now() + 1_000_000).toISOString(), '999999-0123456789ab');
  expect(other).toBe(AGE);
});

test('a state file that is damaged is ignored', async () => {
  for (const text of ['', '{', '{"version":2}', '{"version":1,"snapshot":{},"keys":null}']) {
    writeFileSync(path.join(dir, 'replica.json'), text);
    expect(await readReplica()).toBe(null);
  }
});
