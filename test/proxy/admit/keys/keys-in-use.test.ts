/**
 * How long a key in use is exempt from the limit on guesses of its address. The tests use the API of
 * one thread with a clock of their own and without a snapshot, so it answers 503 to every admitted
 * request.
 */
import { BlockList } from 'node:net';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { hashKey, makeKey } from '#lib/format/api-key.ts';
import { makeKeyTable } from '#proxy/admit/keys/key-table.ts';
import { AddressLimits } from '#proxy/admit/limits/address-limits.ts';
import { makeRollingWindow, takeLocally } from '#proxy/admit/limits/rolling-window.ts';
import { Api } from '#proxy/api/handler.ts';
import { makeRequestCounts, newRequestCounts } from '#proxy/api/request-counts.ts';
import type { ApiHandler } from '#proxy/http/response.ts';
import { callApi } from '#site/explore/call-api.ts';

const GUESSES = 2;
const TEN_MINUTES = 600_000;
let now: number;
let key: string;
let api: ApiHandler;

beforeEach(() => {
  now = 5_000_000;
  key = makeKey();
  const keys = makeKeyTable();
  const window = makeRollingWindow(100).memory;
  const entry = { id: 1, hash: hashKey(key), state: 'approved', limit: 100 } as const;
  keys.replace([{ ...entry, window }]);
  api = new Api({
    keys,
    addresses: new AddressLimits(GUESSES),
    limiter: { take: takeLocally },
    trustedProxies: new BlockList(),
    publicUrl: 'https://api.covers.example',
    hasDownloads: true,
    counts: makeRequestCounts(newRequestCounts()),
    log: pino({ enabled: false }),
    now: () => now,
  }).handle;
});

function sendWithKey(raw: string) {
  return callApi(api, raw, '/stats', { socket: { remoteAddress: '192.0.2.1' }, head: {} });
}
const useKey = async () => (await sendWithKey(key)).status;

/** Guesses until the address has used up its limit. */
async function guess(): Promise<void> {
  for (let i = 0; i < GUESSES; i++) expect((await sendWithKey(makeKey())).status).toBe(401);
  expect((await sendWithKey(makeKey())).status).toBe(429);
}

test('a key is exempt for ten minutes after it was admitted', async () => {
  expect(await useKey()).toBe(503);
  now += TEN_MINUTES - 1;
  await guess();
  expect(await useKey()).toBe(503);
});

test('each admitted request starts the ten minutes again', async () => {
  for (let i = 0; i < 3; i++) {
    expect(await useKey()).toBe(503);
    now += TEN_MINUTES - 1;
  }
  await guess();
  expect(await useKey()).toBe(503);
});

test('after ten minutes a key counts like a guess, until the window of the address has room', async () => {
  expect(await useKey()).toBe(503);
  now += TEN_MINUTES;
  await guess();
  const refused = await sendWithKey(key);
  expect(refused.status).toBe(429);
  expect(refused.header('X-RateLimit-Limit')).toBe('2');
  expect(refused.header('Retry-After')).toBe('60');
  now += 59_999;
  expect(await useKey()).toBe(429);
  now += 1;
  expect(await useKey()).toBe(503);
});

test('a key stays exempt while its requests are refused because of its own limit', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 101; i++) statuses.push(await useKey());
  expect(statuses.filter((status) => status === 503)).toHaveLength(100);
  await guess();
  const refused = await sendWithKey(key);
  expect(refused.header('X-RateLimit-Limit')).toBe('100');
});
