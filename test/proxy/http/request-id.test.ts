/** The id of a request: the client's or a random one, in every response of the API. */
import { beforeAll, describe, expect, test } from 'vitest';
import { makeKey } from '../../../format/api-key.ts';
import { isRequestId, makeRequestId } from '../../../proxy/http/request.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import {
  NEVER,
  PARSERS,
  type RunningProxy,
  send,
  startProxy,
  testKey,
} from '../../support/product.ts';

const key = testKey(1);
const RANDOM = /^[0-9a-f]{24}$/;

describe.each(PARSERS)('over %s', (_, fields) => {
  let proxy: RunningProxy;

  beforeAll(async () => {
    proxy = await startProxy(await makeSampleSnapshots([key]), {}, NEVER);
  });
  async function idOf(
    headers: Record<string, string | string[]>,
    target = '/stats',
    method = 'GET',
  ): Promise<string> {
    const reply = await send(`${proxy.url}/api/v1${target}`, {
      headers: { 'x-api-key': key.key, ...fields, ...headers },
      method,
    });
    return String(reply.headers['x-request-id']);
  }

  test('is random without one, or if the client sends several', async () => {
    expect(await idOf({})).toMatch(RANDOM);
    expect(await idOf({ 'x-request-id': ['a', 'b'] })).toMatch(RANDOM);
    expect(await idOf({ 'x-request-id': makeKey() })).toMatch(RANDOM);
  });

  test.each([
    ['304', '/stats', 'GET', { 'if-none-match': '*' }],
    ['400', '/stats?a=b', 'GET', {}],
    ['401', '/stats', 'GET', { 'x-api-key': 'cck_wrong' }],
    ['404', '/nowhere', 'GET', {}],
    ['405', '/stats', 'DELETE', {}],
    ['410', '/stats', 'GET', { 'x-snapshot': '000001-0123456789ab' }],
    ['a preflight', '/stats', 'OPTIONS', {}],
    ['a download', '/snapshot/files/stats.json', 'GET', {}],
    ['HEAD', '/stats', 'HEAD', {}],
  ] as const)('is in the response of %s', async (_, target, method, headers) => {
    expect(await idOf({ ...headers, 'x-request-id': 'mine' }, target, method)).toBe('mine');
  });
});

test('a client may choose a short id without odd characters and without a key', () => {
  for (const id of ['a', 'A-Z_0.9', '5f0c1e9a7b3d48260c1e9a7b12345678', `${'ab-'.repeat(21)}x`]) {
    expect(isRequestId(id), id).toBe(true);
  }
  const keys = [`x.${makeKey()}`, makeKey().slice(4)];
  for (const id of ['', 'ab-'.repeat(22), 'a b', 'a"b', 'caf\xe9', ...keys]) {
    expect(isRequestId(id), id).toBe(false);
  }
});

test('a random id is never made twice', () => {
  const ids = Array.from({ length: 1_000 }, makeRequestId);
  expect(new Set(ids).size).toBe(1_000);
  for (const id of ids) expect(id).toMatch(RANDOM);
});
