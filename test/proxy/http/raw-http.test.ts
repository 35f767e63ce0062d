/** Requests that no client library would send, over raw sockets. Each gets one clear response, no 5xx. */
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';
import { sendRaw, statusesIn } from '#test/support/servers/sockets.ts';

const key = testKey(1);
const proxy = await startProxy(await makeSampleSnapshots([key]), {}, NEVER);

const exchange = (text: string) => sendRaw(proxy.port, text);

const keyed = (rest = '') => `Host: x\r\nX-Api-Key: ${key.key}\r\n${rest}\r\n`;
const CLOSE = 'Connection: close\r\n';
const line = (target: string, version = '1.1', method = 'GET') =>
  `${method} ${target} HTTP/${version}\r\n`;
const stats = line('/api/v1/stats');
/** A request line of so many bytes, besides its end. */
const lineOf = (bytes: number, method = 'GET') =>
  line(`/api/v1/${'a'.repeat(bytes - `${method} /api/v1/ HTTP/1.1`.length)}`, '1.1', method);

test.each<[string, () => string, number]>([
  ['a plain request', () => stats + keyed(CLOSE), 200],
  [
    'HTTP/1.0 without Host',
    () => `${line('/api/v1/stats', '1.0')}X-Api-Key: ${key.key}\r\n\r\n`,
    200,
  ],
  ['the absolute form', () => line('http://evil.example/api/v1/stats') + keyed(CLOSE), 200],
  ['an offer to upgrade', () => stats + keyed(`Upgrade: h2c\r\n${CLOSE}`), 200],
  ['Content-Length: 0', () => stats + keyed(`Content-Length: 0\r\n${CLOSE}`), 200],
  ['a body', () => `${stats + keyed('Content-Length: 5\r\n')}hello`, 400],
  [
    'a POST with a body',
    () => `${line('/api/v1/stats', '1.1', 'POST') + keyed('Content-Length: 5\r\n')}hello`,
    400,
  ],
  [
    'Expect: 100-continue',
    () => stats + keyed('Content-Length: 5\r\nExpect: 100-continue\r\n'),
    400,
  ],
  ['another expectation', () => stats + keyed(`Expect: wonders\r\n${CLOSE}`), 200],
  ['a chunked body', () => `${stats + keyed('Transfer-Encoding: chunked\r\n')}0\r\n\r\n`, 400],
  ['an unknown transfer coding', () => stats + keyed('Transfer-Encoding: xchunked\r\n'), 400],
  [
    'both framings',
    () => stats + keyed('Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'),
    400,
  ],
  ['two lengths', () => stats + keyed('Content-Length: 0\r\nContent-Length: 5\r\n'), 400],
  ['no Host', () => `${stats}X-Api-Key: ${key.key}\r\n\r\n`, 400],
  ['a Host that is none', () => `${stats}Host: ###\r\nX-Api-Key: ${key.key}\r\n\r\n`, 400],
  ['two Hosts', () => stats + keyed('Host: y\r\n'), 400],
  ['HTTP/2.0 as a version', () => line('/api/v1/stats', '2.0') + keyed(), 400],
  ['two X-Snapshot', () => stats + keyed(`X-Snapshot: a\r\nX-Snapshot: b\r\n${CLOSE}`), 400],
  ['a target that is not a path', () => line('stats') + keyed(), 400],
  ['OPTIONS *', () => line('*', '1.1', 'OPTIONS') + keyed(), 400],
  ['CONNECT', () => line('a.example:443', '1.1', 'CONNECT') + keyed(), 405],
  ['raw bytes in the path', () => line('/api/v1/platforms/\xe9') + keyed(), 400],
  ['two slashes', () => line('//api/v1/stats') + keyed(CLOSE), 404],
  ['a backslash', () => line('/\\api/v1/stats') + keyed(CLOSE), 404],
  ['dot segments', () => line('/api/v1/../../etc/passwd') + keyed(CLOSE), 404],
  ['encoded dot segments', () => line('/api/v1/platforms/%2e%2e/stats') + keyed(CLOSE), 404],
  ['a head of 20 KB', () => stats + keyed(`X-Filler: ${'a'.repeat(20_000)}\r\n`), 431],
  ['a path of 12 KB', () => line(`/api/v1/${'a'.repeat(12_000)}`) + keyed(CLOSE), 414],
  ['a request line of 8,192 bytes', () => lineOf(8_192) + keyed(CLOSE), 404],
  ['a longer one', () => lineOf(8_193) + keyed(CLOSE), 414],
  ['one of HEAD with 8,192 bytes', () => lineOf(8_192, 'HEAD') + keyed(CLOSE), 404],
  ['a longer one of HEAD', () => lineOf(8_193, 'HEAD') + keyed(CLOSE), 414],
  ['an unknown method', () => line('/api/v1/stats', '1.1', 'ABC') + keyed(), 405],
  ['an unknown method, before its other lines', () => line('/api/v1/stats', '1.1', 'ABC'), 405],
  ['an unknown method for a page', () => line('/docs', '1.1', 'ABC') + keyed(), 405],
  ['an unknown method without Host', () => `${line('/api/v1', '1.1', 'ABC')}\r\n`, 400],
  [
    'an unknown method with a body',
    () => `${line('/api/v1', '1.1', 'ABC')}${keyed('Content-Length: 1\r\n')}a`,
    400,
  ],
  [
    'an unknown method and a malformed field',
    () => `${line('/api/v1', '1.1', 'ABC')}Host: x\r\nA b: c\r\n\r\n`,
    400,
  ],
  ['an unknown method and version', () => line('/api/v1', '3.0', 'ABC') + keyed(), 400],
  [
    'DELETE with a line of 9 KB',
    () => line(`/api/v1/${'a'.repeat(9_000)}`, '1.1', 'DELETE') + keyed(CLOSE),
    405,
  ],
  ['bytes that are not HTTP', () => 'NONSENSE\r\n\r\n', 400],
  ['a field without a colon', () => `${stats}Host: x\r\nNonsense\r\n\r\n`, 400],
])('%s gets one response, then the connection is closed', async (_, request, status) => {
  const received = await exchange(request());
  expect(statusesIn(received), received).toEqual([status]);
  if (status >= 400)
    expect(received).toMatch(/\r\n\r\n(\{"error":"[^"]+"(,"parameter":"[\w-]+")?\})?$/);
  expect(received).toMatch(/^Date: .+ GMT\r$/m);
  if (status === 405) expect(received).toMatch(/^Allow: /m);
});

test('pipelined requests are answered in order', async () => {
  const received = await exchange(
    line('/api/v1/platforms/snes') +
      keyed() +
      line('/api/v1/nothing') +
      keyed() +
      stats +
      keyed(CLOSE),
  );
  expect(statusesIn(received)).toEqual([200, 404, 200]);
});

test('after an offer to upgrade, the connection carries no further request', async () => {
  const received = await exchange(stats + keyed('Upgrade: h2c\r\n') + stats + keyed());
  expect(statusesIn(received)).toEqual([200]);
  expect(received).toContain('Connection: close\r\n');
});

/** As the bytes are sent: one character each. */
const raw = (text: string) => Buffer.from(text).toString('latin1');

test('raw UTF-8 in a target is read as if it were percent-encoded', async () => {
  const q = '/api/v1/search?per_page=1&q=Pokémon+赤';
  const bodies = [];
  for (const [target, method, fields] of [
    [encodeURI(q), 'GET', ''],
    [raw(q), 'GET', ''],
    // Node's parser reads these.
    [raw(q), 'GET', 'TE: trailers\r\n'],
    [raw(q), 'HEAD', ''],
  ] as const) {
    const received = await exchange(line(target, '1.1', method) + keyed(fields + CLOSE));
    expect(statusesIn(received)).toEqual([200]);
    if (method === 'GET') bodies.push(received.split('\r\n\r\n')[1]);
    else expect(received).toContain(`Content-Length: ${bodies[0]?.length}\r\n`);
  }
  expect(new Set(bodies).size).toBe(1);
});

test.each(['\xff', '\xc3', 'a\xed\xa0\x80'])(
  '%j in a target, which is not UTF-8, is refused',
  async (bytes) => {
    for (const target of [`/api/v1/search?q=${bytes}`, `/api/v1/games/snes/${bytes}`]) {
      const received = await exchange(line(target) + keyed());
      expect(statusesIn(received)).toEqual([400]);
      expect(received).toContain('{"error":"The request target must be percent-encoded UTF-8"}');
    }
  },
);

test('a request hidden in a refused body is not answered', async () => {
  const hidden = line('/api/v1/stats') + keyed();
  const received = await exchange(
    `${stats + keyed(`Content-Length: ${hidden.length}\r\n`)}${hidden}`,
  );
  expect(statusesIn(received)).toEqual([400]);
});

test.each([
  ['a body', () => stats + keyed('Transfer-Encoding: xchunked\r\n')],
  ['CONNECT', () => line('a.example:443', '1.1', 'CONNECT') + keyed()],
  ['an unknown method', () => line('/api/v1/stats', '1.1', 'ABC') + keyed()],
  ['an unknown method whose path is not whole', () => 'ABC /api/v1/sta'],
  [
    'an unknown method behind another request',
    () =>
      line('/api/v1/stats', '1.1', 'HEAD') +
      keyed() +
      line('/api/v1/stats', '1.1', 'ABC') +
      keyed(),
  ],
])('the refusal of %s has the fields of the API', async (_, request) => {
  const received = (await exchange(request())).replace(/^.*(?=HTTP\/1\.1 4)/s, '');
  for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']) {
    expect(received).toMatch(new RegExp(`^${name}: \\d+\\r$`, 'm'));
  }
  expect(received).toMatch(/^X-Request-Id: [\w-]+\r$/m);
  expect(received).toContain('Access-Control-Allow-Origin: *\r\n');
  expect(received).toContain('Cache-Control: no-store\r\n');
});
