/**
 * Every endpoint with every status, over real HTTP with the real proxy. Each response is checked
 * against openapi.yaml. All tests run over the fast path and over Node's parser.
 */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeKey } from '#lib/format/api-key.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { checkContract } from '#test/support/openapi.ts';
import {
  NEVER,
  PARSERS,
  type Reply,
  type RunningProxy,
  send,
  startProxy,
  testKey,
} from '#test/support/product.ts';

const RATE_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
const EXPOSED_HEADERS =
  'Content-Range, ETag, Link, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Search-Match, X-Snapshot';
const key = testKey(1);
/** Other tests do not count with these. */
const [limited, counted] = [testKey(100, { limit: 3 }), testKey(101)];
const named = testKey(4294967295, { limit: 9 });
const revoked = testKey(2, { state: 'revoked' });
const rejected = testKey(3, { state: 'rejected' });

describe.each(PARSERS)('over %s', (_, fields) => {
  let proxy: RunningProxy;
  let coverId: string;
  let snapshot: string;

  beforeAll(async () => {
    const snapshotsDir = await makeSampleSnapshots([
      key,
      revoked,
      rejected,
      limited,
      counted,
      named,
    ]);
    proxy = await startProxy(snapshotsDir, { ADDRESS_RATE_LIMIT: '1000000' }, NEVER);
    const covers = await get('/games/snes/chrono-trigger/covers');
    coverId = String(covers.json.data[0].id);
    snapshot = covers.headers['x-snapshot'];
  });

  type Headers = Record<string, string | string[]>;

  /** Sends a request with a valid key. @returns the response, after checking it */
  async function get(path: string, headers: Headers = {}, method = 'GET'): Promise<Reply> {
    return checked(path, { 'x-api-key': key.key, ...headers }, method);
  }

  /** Sends a request. @returns the response, after checking it against the contract */
  async function checked(path: string, headers: Headers, method = 'GET'): Promise<Reply> {
    const url = `/api/v1${path}`;
    const own = { ...fields, 'x-request-id': 'mine', ...headers };
    const reply = await send(proxy.url + url, { method, headers: own });
    checkContract(method, url, reply);
    for (const name of RATE_HEADERS) expect(reply.headers[name], name).toMatch(/^\d+$/);
    expect(reply.headers['x-request-id']).toBe('mine');
    expect(reply.headers['access-control-allow-origin']).toBe('*');
    expect(reply.headers['access-control-expose-headers']).toBe(EXPOSED_HEADERS);
    if (reply.status !== 304 && reply.status !== 204) {
      expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    }
    if (reply.status >= 400) {
      expect(reply.headers['cache-control']).toBe('no-store');
      const members = reply.status === 400 ? /^error(?:,parameter)?$/ : /^error$/;
      if (method !== 'HEAD') expect(Object.keys(reply.json).join()).toMatch(members);
    }
    return reply;
  }

  /** Each endpoint, with the id of a cover as {cover}, and that of the snapshot as {snapshot}. */
  const ENDPOINTS = [
    '/platforms',
    '/platforms/snes',
    '/platforms/snes/games',
    '/games/snes/chrono-trigger',
    '/games/snes/chrono-trigger/covers',
    '/covers/recent',
    '/covers/{cover}',
    '/search',
    '/stats',
    '/platforms/snes/covers',
    '/games?slugs=snes/chrono-trigger,snes/none&include=cover',
    '/covers?ids={cover},1',
    '/games/snes/chrono-trigger?include=cover&prefer=JP',
    '/search?include=covers',
    '/changes?since={snapshot}',
  ];
  const PAGED = /^\/search|^\/changes|^\/platforms\/snes\/./;

  describe.each(ENDPOINTS)('%s', (endpoint) => {
    const isPaged = PAGED.test(endpoint);
    const pathOf = (parameter = '') => {
      const path = endpoint.replace('{cover}', coverId).replace('{snapshot}', snapshot);
      return parameter === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${parameter}`;
    };

    test('answers with every header of the contract, twice with the same bytes, HEAD without', async () => {
      const reply = await get(pathOf());
      expect(reply.status).toBe(200);
      expect(reply.headers.etag).toMatch(/^"[0-9a-f]{16}"$/);
      expect(reply.headers['x-snapshot']).toMatch(/^000001-[0-9a-f]{12}$/);
      expect(reply.headers['cache-control']).toBe('private, no-cache');
      expect(reply.headers.vary).toBe('Accept-Encoding');
      expect(Number(reply.headers['content-length'])).toBe(reply.bytes.length);
      expect(reply.headers.link === undefined).toBe(!isPaged);
      const second = await get(pathOf());
      expect(second.bytes.equals(reply.bytes)).toBe(true);
      const head = await get(pathOf(), {}, 'HEAD');
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      for (const name of ['etag', 'content-length', 'content-type', 'x-snapshot', 'link', 'vary']) {
        expect([second.headers[name], head.headers[name]], name).toEqual([
          reply.headers[name],
          reply.headers[name],
        ]);
      }
    });

    test('answers 304 to its ETag on its own, in a list, as a weak tag, and to *', async () => {
      const { headers } = await get(pathOf());
      const etag = headers.etag as string;
      for (const value of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
        const reply = await get(pathOf(), { 'if-none-match': value });
        expect(reply.status, value).toBe(304);
        expect(reply.bytes.length).toBe(0);
        expect(reply.headers.etag).toBe(etag);
        expect(reply.headers['x-snapshot']).toBe(headers['x-snapshot']);
        expect(reply.headers['cache-control']).toBe('private, no-cache');
        expect(reply.headers.vary).toBe('Accept-Encoding');
        expect(reply.headers.link).toBe(headers.link);
        expect(reply.headers['content-length']).toBeUndefined();
        expect(reply.headers['content-type']).toBeUndefined();
      }
      expect((await get(pathOf(), { 'if-none-match': '"0000000000000000"' })).status).toBe(200);
    });

    test('compresses bodies of at least 1 KiB with gzip or br, each with its own ETag', async () => {
      const plain = await get(pathOf(), { 'accept-encoding': 'identity' });
      for (const [coding, decode] of [
        ['gzip', gunzipSync],
        ['br', brotliDecompressSync],
      ] as const) {
        const reply = await get(pathOf(), { 'accept-encoding': coding });
        if (plain.bytes.length < 1024) {
          expect(reply.headers['content-encoding']).toBeUndefined();
          expect(reply.bytes.equals(plain.bytes)).toBe(true);
          continue;
        }
        expect(reply.headers['content-encoding']).toBe(coding);
        expect(decode(reply.bytes).equals(plain.bytes)).toBe(true);
        expect(reply.headers.etag).not.toBe(plain.headers.etag);
        expect(reply.bytes.length).toBeLessThan(plain.bytes.length);
        const condition = {
          'accept-encoding': coding,
          'if-none-match': reply.headers.etag as string,
        };
        expect((await get(pathOf(), condition)).status).toBe(304);
      }
    });

    test('refuses a wrong parameter, and names those that it has', async () => {
      const { status, json } = await get(pathOf('colour=red'));
      expect([status, json.error, json.parameter]).toEqual([
        400,
        expect.stringMatching(/^Unknown parameter: colour\. Allowed: [a-z_, ]+$/),
        'colour',
      ]);
      const wrong = await get(pathOf('page=0'));
      expect([wrong.status, wrong.json.parameter]).toEqual([400, 'page']);
      if (!isPaged) return;
      expect(wrong.json.error).toBe('page must be an integer from 1 to 9007199254740991');
      expect((await get(pathOf('page=&per_page='))).status).toBe(200);
    });

    test('answers 412 if another snapshot is current than the request expects', async () => {
      const plain = await get(pathOf());
      const expected = await get(pathOf(), { 'x-snapshot': plain.headers['x-snapshot'] });
      expect(expected.bytes.equals(plain.bytes)).toBe(true);
      const other = { 'x-snapshot': '000009-0123456789ab' };
      for (const more of [{}, { 'if-none-match': '*' }]) {
        const reply = await get(pathOf(), { ...other, ...more });
        expect([reply.status, reply.text]).toEqual([
          412,
          '{"error":"Snapshot changed. Leave X-Snapshot out, or begin again with the current one"}',
        ]);
        expect(reply.headers['x-snapshot']).toBeUndefined();
      }
      expect((await get(pathOf(), other, 'HEAD')).status).toBe(412);
    });
  });

  describe('a record that does not exist', () => {
    test.each([
      '/platforms/no-such-platform',
      '/platforms/no-such-platform/games',
      '/games/no-such-platform/chrono-trigger',
      '/games/snes/no-such-game',
      '/games/no-such-platform/chrono-trigger/covers',
      '/games/snes/no-such-game/covers',
      '/covers/99999999',
    ])('answers 404 to %s', async (path) => {
      const reply = await get(path);
      expect(reply.status).toBe(404);
      expect(reply.text).toBe('{"error":"Not found"}');
      const head = await get(path, {}, 'HEAD');
      expect(head.status).toBe(404);
      expect(head.bytes.length).toBe(0);
      expect((await get(path, { 'if-none-match': '*' })).status).toBe(404);
      expect((await get(path, { 'x-snapshot': '000009-0123456789ab' })).status).toBe(412);
    });
  });

  describe('under the base', () => {
    test('answers 401 without exactly one valid key, with the same text for all invalid keys', async () => {
      const invalid = '{"error":"Invalid API key"}';
      const form = 'Send the API key as "Authorization: Bearer <key>" or as "X-Api-Key: <key>"';
      const misplaced = JSON.stringify({ error: form });
      const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
      const several = '{"error":"Send the API key in exactly one header"}';
      const damaged = `${key.key.slice(0, -1)}${key.key.endsWith('a') ? 'b' : 'a'}`;
      for (const [headers, text] of [
        [{}, '{"error":"Missing API key"}'],
        [{ authorization: 'Basic YTpi' }, '{"error":"Missing API key"}'],
        [{ authorization: `Token ${key.key}` }, misplaced],
        [{ authorization: basic(`${key.key}:`) }, misplaced],
        [{ authorization: basic(`user:${key.key}`) }, misplaced],
        [{ 'x-api-key': `Bearer ${key.key}` }, misplaced],
        [{ 'x-api-key': damaged }, invalid],
        [{ 'x-api-key': makeKey() }, invalid],
        [{ 'x-api-key': rejected.key }, invalid],
        [{ authorization: `Bearer ${revoked.key}` }, invalid],
        [{ 'x-api-key': [key.key, key.key] }, several],
      ] as [Headers, string][]) {
        const reply = await checked('/stats', headers);
        expect(reply.status, JSON.stringify(headers)).toBe(401);
        expect(reply.text).toBe(text);
        expect(reply.headers['www-authenticate']).toBe('Bearer');
        expect(reply.headers['x-ratelimit-limit']).toBe('1000000');
      }
    });

    test('answers 405 to every other method, before it checks the key', async () => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'ABC', 'get']) {
        const reply = await checked('/stats', {}, method);
        expect(reply.status, method).toBe(405);
        expect(reply.text).toBe('{"error":"Method not allowed"}');
        expect(reply.headers.allow).toBe('GET, HEAD, OPTIONS');
      }
    });

    test('answers a preflight without a key and does not count it', async () => {
      const own = { 'x-api-key': counted.key };
      const before = await get('/stats', own);
      const reply = await checked('/stats', { origin: 'https://a.example' }, 'OPTIONS');
      expect(reply.status).toBe(204);
      expect(reply.headers).toMatchObject({
        'access-control-allow-headers':
          'Authorization, X-Api-Key, X-Snapshot, If-None-Match, If-Range, Content-Type, Cache-Control, X-Request-Id, X-Requested-With, Pragma, traceparent, tracestate, baggage, sentry-trace',
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-max-age': '86400',
        'cache-control': 'no-store',
      });
      expect(reply.bytes.length).toBe(0);
      const after = await get('/stats', own);
      const remaining = (one: Reply) => Number(one.headers['x-ratelimit-remaining']);
      expect(remaining(before) - remaining(after)).toBe(1);
    });

    test('answers 429 with Retry-After above the limit', async () => {
      const headers = { 'x-api-key': limited.key };
      const replies: Reply[] = [];
      for (let i = 0; i < 4; i++) replies.push(await checked('/stats', headers));
      const counts = replies.map((reply) => [reply.status, reply.headers['x-ratelimit-remaining']]);
      expect(counts).toEqual([
        [200, '2'],
        [200, '1'],
        [200, '0'],
        [429, '0'],
      ]);
      const refused = replies[3] as Reply;
      expect(refused.text).toBe('{"error":"Rate limit exceeded"}');
      expect(refused.headers['x-ratelimit-limit']).toBe('3');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    });

    test.each(['nonsense', '../../etc/passwd', '000001-0123456789ab/'])(
      'refuses X-Snapshot: %s',
      async (id) => {
        const reply = await get('/stats', { 'x-snapshot': id });
        expect(reply.status).toBe(400);
        expect(reply.json.error).toMatch(/^X-Snapshot must be the id of a snapshot, /);
        expect(reply.json.parameter).toBe('X-Snapshot');
      },
    );

    test.each([
      '',
      '/',
      '/platforms/',
      '/Platforms',
      '/platforms/snes/',
      '/platforms/SNES',
      '/platforms//games',
      '/games/snes',
      '/games/snes/chrono-trigger/covers/',
      '/games/snes/chrono-trigger/covers/extra',
      '/games/snes/chrono-trigger/files',
      '/games/__proto__/constructor',
      '/covers/0',
      '/covers/01',
      '/covers/-1',
      '/covers/18446744073709551616',
      '/covers/999999999999999999999999',
      '/covers/recent/',
      '/covers/%E0%A4%A',
      '/platforms/%00',
      '/platforms/..%2f..%2fmanifest.json',
      '/stats/',
      '/search/x',
    ])('"%s" is answered with 404, but only after the check of the key', async (path) => {
      expect((await get(path)).text).toBe('{"error":"Not found"}');
      expect((await checked(path, {})).status).toBe(401);
    });

    test('an id is random if the client sends none, several, or its key', async () => {
      const own = { 'x-api-key': key.key, ...fields };
      const url = `${proxy.url}/api/v1/stats`;
      for (const ids of [{}, { 'x-request-id': ['a', 'b'] }, { 'x-request-id': makeKey() }]) {
        const { headers } = await send(url, { headers: { ...own, ...ids } });
        expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      }
    });

    test('a response to a valid key has the number of the key, also 429, and no other response', async () => {
      const keyed = { 'x-api-key': named.key };
      const numberOf = async (path: string, headers: Headers, method?: string) => {
        const reply = await checked(path, headers, method);
        return [reply.status, reply.headers['x-key-id']];
      };
      const number = String(named.id);
      for (const [status, path, headers, method] of [
        [200, '/stats', {}, 'GET'],
        [200, '/stats', {}, 'HEAD'],
        [304, '/stats', { 'if-none-match': '*' }, 'GET'],
        [404, '/nowhere', {}, 'GET'],
        [400, '/stats?a=b', {}, 'GET'],
        [412, '/stats', { 'x-snapshot': '000001-0123456789ab' }, 'GET'],
        [200, '/snapshot', {}, 'HEAD'],
        [200, '/search?q=chrono', {}, 'GET'],
        [200, '/search?q=chrono', {}, 'GET'],
        [429, '/stats', {}, 'GET'],
      ] as const)
        expect(await numberOf(path, { ...keyed, ...headers }, method)).toEqual([status, number]);
      expect(await numberOf('/stats', keyed, 'OPTIONS')).toEqual([204, undefined]);
      expect(await numberOf('/stats', keyed, 'DELETE')).toEqual([405, undefined]);
      for (const headers of [{}, { 'x-api-key': revoked.key }, { 'x-api-key': makeKey() }])
        expect(await numberOf('/stats', headers)).toEqual([401, undefined]);
    });

    test('a percent-encoded path is equivalent to the plain path', async () => {
      const plain = await get('/games/snes/chrono-trigger');
      const encoded = await get('/games/snes/chrono%2Dtrigge%72');
      expect(encoded.text).toBe(plain.text);
    });

    test('304, 404, 400 and 412 count towards the limit', async () => {
      const remaining = async (path: string, headers: Headers = {}) =>
        Number(
          (await get(path, { 'x-api-key': counted.key, ...headers })).headers[
            'x-ratelimit-remaining'
          ],
        );
      const start = await remaining('/stats');
      expect(await remaining('/nothing')).toBe(start - 1);
      expect(await remaining('/stats', { 'if-none-match': '*' })).toBe(start - 2);
      expect(await remaining('/search?page=0')).toBe(start - 3);
      expect(await remaining('/stats', { 'x-snapshot': '000009-0123456789ab' })).toBe(start - 4);
    });

    test('a wrong path or parameter is answered before the snapshot is compared', async () => {
      const other = { 'x-snapshot': '000009-0123456789ab' };
      expect((await get('/nothing', other)).status).toBe(404);
      expect((await get('/search?page=0', other)).status).toBe(400);
      expect((await get('/nothing', { 'x-snapshot': 'nonsense' })).status).toBe(404);
    });

    test('Link names only pages that exist, also on a page past the end', async () => {
      const path = '/platforms/snes/games';
      const { total, total_pages: last } = (await get(`${path}?per_page=2`)).json;
      expect(last).toBe(Math.ceil(total / 2));
      for (const [page, expected] of [
        [1, { first: 1, next: 2, last }],
        [2, { first: 1, prev: 1, next: 3, last }],
        [last, { first: 1, prev: last - 1, last }],
        [last + 7, { first: 1, prev: last, last }],
      ]) {
        const { json, headers } = await get(`${path}?per_page=2&page=${page}`);
        expect(json).toMatchObject({ page, per_page: 2, total, total_pages: last });
        if (page > last) expect(json.data).toEqual([]);
        const links = Object.entries(expected).map(
          ([relation, target]) =>
            `<http://localhost:8080/api/v1${path}?page=${target}&per_page=2>; rel="${relation}"`,
        );
        expect(headers.link).toBe(links.join(', '));
      }
      const none = await get('/search?q=nothingofthatname&page=3');
      expect(none.json).toEqual({ data: [], page: 3, per_page: 50, total: 0, total_pages: 0 });
      expect(none.headers.link).toBe(
        '<http://localhost:8080/api/v1/search?q=nothingofthatname&page=1&per_page=50>; rel="first"',
      );
      const searched = await get('/search?q=pok%C3%A9mon+red&platform=game-boy&per_page=1');
      expect(searched.headers.link).toContain('?q=pok%C3%A9mon+red&platform=game-boy&page=1&');
    });
  });

  describe('outside the base', () => {
    test('errors are JSON without rate limit headers', async () => {
      const missing = await send(`${proxy.url}/api/v2/platforms`);
      expect(missing.status).toBe(404);
      expect(missing.text).toBe('{"error":"Not found"}');
      expect(missing.headers['x-ratelimit-limit']).toBeUndefined();
      expect((await send(`${proxy.url}/`, { method: 'POST' })).status).toBe(405);
      for (const path of ['/api', '/api/v10/stats', '/API/v1/stats', '/x/api/v1/stats']) {
        const outside = await send(proxy.url + path);
        expect(outside.status, path).toBe(404);
        expect(outside.headers['x-ratelimit-limit'], path).toBeUndefined();
      }
      for (const path of ['/api/v1', '/api/v1?page=1', '/api/v1/']) {
        const inside = await send(proxy.url + path);
        expect(inside.status, path).toBe(401);
        expect(inside.headers['x-ratelimit-limit'], path).toBe('1000000');
      }
    });

    test('health and metrics are only on the admin port', async () => {
      for (const path of ['/healthz', '/readyz', '/metrics']) {
        expect((await send(proxy.url + path)).status).toBe(404);
        expect((await send(proxy.adminUrl + path)).status).toBe(200);
      }
      const metrics = await proxy.metrics();
      expect(metrics).toMatch(/^api_requests_total\{route="game",status="200"\} \d+$/m);
      expect(metrics).not.toContain(key.key);
    });
  });
});
