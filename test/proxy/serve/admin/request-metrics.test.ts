/** The metrics of requests: buckets of times, and reasons of refusals. */
import { expect, test } from 'vitest';
import {
  BUCKETS,
  makeRequestCounts,
  newRequestCounts,
  sumRequestCounts,
} from '#proxy/api/request-counts.ts';
import { requestTimesText } from '#proxy/serve/admin/admin.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, type RunningProxy, send, startProxy, testKey } from '#test/support/product.ts';

/** The value of a metric with its labels, such as `api_refusals_total{reason="no_keys"}`. */
async function readMetric(proxy: RunningProxy, metric: string): Promise<number> {
  const line = (await proxy.metrics()).split('\n').find((text) => text.startsWith(`${metric} `));
  if (line === undefined) throw new Error(`There is no metric ${metric}.`);
  return Number(line.slice(metric.length + 1));
}

const refusals = (proxy: RunningProxy, reason: string) =>
  readMetric(proxy, `api_refusals_total{reason="${reason}"}`);

test('each request is in the bucket of its time, at the bounds too, and in the sum', () => {
  const [first, second] = [newRequestCounts(), newRequestCounts()];
  const milliseconds = [0, 0.5, 0.500001, 1, 9_999, 10_000, 10_001, 3_600_000];
  const counts = [makeRequestCounts(first), makeRequestCounts(second)];
  for (const [number, time] of milliseconds.entries()) counts[number % 2]?.count('game', 200, time);
  const lines = requestTimesText(sumRequestCounts([first, second])).split('\n');
  const valuesOf = (part: string) =>
    lines
      .filter((line) => line.startsWith(`api_request_duration_seconds_${part}{`))
      .map((line) => Number(line.split(' ').at(-1)));
  expect(valuesOf('bucket')).toEqual([2, ...BUCKETS.slice(1, -1).map(() => 4), 6, 8]);
  expect(lines).toContain('api_request_duration_seconds_bucket{le="0.0005",route="game"} 2');
  expect(lines).toContain('api_request_duration_seconds_bucket{le="+Inf",route="game"} 8');
  expect(valuesOf('count')).toEqual([8]);
  expect(valuesOf('sum')[0]).toBeCloseTo(3_630.002, 3);
});

test('each refusal is counted by its reason', async () => {
  const small = testKey(1, { limit: 2 });
  const revoked = testKey(2, { state: 'revoked' });
  const snapshots = await makeSampleSnapshots([small, revoked]);
  const proxy = await startProxy(snapshots, { ADDRESS_RATE_LIMIT: '6' }, NEVER);
  const url = `${proxy.url}/api/v1/stats`;
  const statusOf = async (headers: Record<string, string>) => (await send(url, { headers })).status;
  const { key } = small;
  expect(await refusals(proxy, 'missing_key')).toBe(0);

  for (let i = 0; i < 5; i++) await proxy.get('/stats', key);
  expect(await refusals(proxy, 'key_limit')).toBe(3);
  expect(await refusals(proxy, 'address_limit')).toBe(0);

  expect(await statusOf({})).toBe(401);
  expect(await statusOf({ authorization: `Token ${key}` })).toBe(401);
  expect(await statusOf({ 'x-api-key': key, authorization: `Bearer ${key}` })).toBe(401);
  expect(await statusOf({ 'x-api-key': 'cck_wrong' })).toBe(401);
  expect(await statusOf({ 'x-api-key': revoked.key })).toBe(401);
  expect(await statusOf({})).toBe(401);
  expect(await statusOf({})).toBe(429);
  const found = ['missing_key', 'misplaced_key', 'several_keys', 'invalid_key', 'address_limit'];
  expect(await Promise.all(found.map((reason) => refusals(proxy, reason)))).toEqual([
    2, 1, 1, 2, 1,
  ]);
  expect(await refusals(proxy, 'key_limit')).toBe(3);
});
