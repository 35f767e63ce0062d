/** The API behind a real nginx with the project's own nginx.conf. */
import { writeFileSync } from 'node:fs';
import type { ClientHttp2Session } from 'node:http2';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeKey } from '#lib/format/api-key.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeFolder, startProxy, testKey } from '#test/support/product.ts';
import {
  type FrontReply,
  type FrontRequest,
  openHttp2,
  openTls,
  type RunningNginx,
  SERVER_NAME,
  sendHttp1,
  sendHttp2,
  sendHttp2Once,
  sendPlain,
  startNginx,
} from '#test/support/servers/nginx.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { listenOn, readToEnd } from '#test/support/servers/sockets.ts';

const HSTS = 'max-age=63072000';
const ADDRESS_LIMIT = 5;
const key = testKey(1);
const keyed = { 'x-api-key': key.key };
/** So that a busy machine does not cut the connections of these tests. */
const PATIENT = [
  ['client_header_timeout 10s;', 'client_header_timeout 300s;'],
  ['send_timeout 15s;', 'send_timeout 300s;'],
  ['keepalive_timeout 30s;', 'keepalive_timeout 300s;'],
] as const;
const NO_BODY = 'A request must not have a body';
/** Marks queries, which no log may contain. */
const MARK = 'mark-of-a-query';
const CODINGS = { 'accept-encoding': 'gzip, br' };
const secret = `?region=${key.key}&q=${MARK}`;

let upstreamConnections = 0;
/** The last request that nginx sent to the proxy. */
let lastSent = '';

const snapshotsDir = await makeSampleSnapshots([key]);
const proxy = await startProxy(snapshotsDir, {
  TRUSTED_PROXIES: '127.0.0.1',
  ADDRESS_RATE_LIMIT: String(ADDRESS_LIMIT),
});
const relay = createServer((socket) => {
  upstreamConnections++;
  socket.on('data', (part) => {
    lastSent = part.toString('latin1');
  });
  const upstream = connect(proxy.port, '127.0.0.1');
  socket.pipe(upstream).pipe(socket);
  socket.on('error', () => upstream.destroy());
  upstream.on('error', () => socket.destroy());
});
const relayPort = await listenOn(relay);
const nginx = await startNginx(relayPort, PATIENT);

/** Sends the same request without nginx. */
const sendDirectly = (target: string, options?: FrontRequest) =>
  sendPlain(proxy.port, target, options);

/** Sends bytes over TLS and reads until nginx closes the connection. */
async function exchange(text: string): Promise<string> {
  const socket = await openTls(nginx);
  socket.write(text, 'latin1');
  return readToEnd(socket);
}

function expectOwnError(reply: FrontReply, status: number, error: string): void {
  expect(reply.status, reply.text).toBe(status);
  expect(reply.text).toBe(JSON.stringify({ error }));
  expect(reply.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': expect.stringContaining('Retry-After'),
    'strict-transport-security': HSTS,
    server: 'nginx',
  });
}

/** A reply that was read from the wire. */
function parseReply(received: string): FrontReply {
  const [head = '', text = ''] = received.split('\r\n\r\n', 2);
  const [line = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => [
      field.slice(0, field.indexOf(':')).toLowerCase(),
      field.slice(field.indexOf(':') + 2),
    ]),
  );
  return { status: Number(line.split(' ')[1]), headers, bytes: Buffer.from(text), text };
}

/** Headers that each hop sets itself, and the counts, which differ from one request to the next. */
const OF_A_HOP = /^(date|server|connection|keep-alive|strict-transport-security)$|^x-ratelimit-re/;

function forwardedFields({ headers }: FrontReply): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_A_HOP.test(name)));
}

describe.each([
  ['HTTP/1.1', sendHttp1],
  ['HTTP/2', sendHttp2Once],
] as const)('over %s', (protocol, sendBy) => {
  const send = (target: string, options?: FrontRequest) => sendBy(nginx, target, options);

  test.each<[string, string, FrontRequest]>([
    ['a game', '/api/v1/games/snes/chrono-trigger', {}],
    ['a list', '/api/v1/platforms', {}],
    ['a page with Link', '/api/v1/platforms/snes/games?page=2&per_page=2', {}],
    ['HEAD', '/api/v1/platforms', { method: 'HEAD' }],
    ['gzip', '/api/v1/platforms', { headers: { 'accept-encoding': 'gzip' } }],
    ['a small body, which stays plain', '/api/v1/games/snes/f-zero', { headers: CODINGS }],
    ['br', '/api/v1/platforms', { headers: { 'accept-encoding': 'br' } }],
    ['304', '/api/v1/stats', { headers: { 'if-none-match': '*' } }],
    ['a range, which the API does not serve', '/api/v1/stats', { headers: { range: 'bytes=0-9' } }],
    ['404', '/api/v1/nothing', {}],
    ['400', '/api/v1/search?page=0', {}],
    ['405', '/api/v1/stats', { method: 'DELETE' }],
    ['410', '/api/v1/stats', { headers: { 'x-snapshot': 'gone' } }],
    ['a preflight', '/api/v1/stats', { method: 'OPTIONS', headers: { origin: 'https://a.b' } }],
    ['two keys', '/api/v1/stats', { headers: { authorization: `Bearer ${makeKey()}` } }],
    ['the contract', '/openapi.json', {}],
    ['the start page', '/', {}],
    ['the longest Link', `/api/v1/search?per_page=1&page=2&q=a${'+'.repeat(3800)}`, {}],
  ])('forwards %s unchanged', async (_name, target, options) => {
    const headers = { ...keyed, 'x-request-id': 'a-test', ...options.headers };
    const direct = await sendDirectly(target, { ...options, headers });
    const reply = await send(target, { ...options, headers });
    expect(reply.status).toBe(direct.status);
    expect(forwardedFields(reply)).toEqual(forwardedFields(direct));
    expect(reply.bytes.equals(direct.bytes)).toBe(true);
    expect(reply.headers['strict-transport-security']).toBe(HSTS);
    expect(reply.headers.server).toBe('nginx');
  });

  test.each([
    ...['//', '//api/v1/stats', '/api//v1/stats', '/api/v1//stats', '/api/v1/./stats'],
    ...['/api/v1/platforms/../stats', '/api/v1/platforms/%2e%2e/stats'],
    ...['/api/v1/../../etc/passwd', '/api/v1/platforms/snes%2Fgames', '/api/v1%2Fstats'],
    ...['/%61pi/v1/stats', '/api/v1/games/snes/chrono%2Dtrigge%72', '/\\api/v1/stats'],
    ...['/api/v1/stats?', '/api/v1/stats?a=//../%00'],
    ...['/api/v1/search?q=pok%C3%A9mon+red&per_page=%31', '/api/v1/search?page=%ff'],
    ...['/nginx-error/502', '/x/../nginx-error/429'],
  ])('answers the target "%s" as the proxy does', async (target) => {
    const direct = await sendDirectly(target, { headers: keyed });
    const reply = await send(target, { headers: keyed });
    expect([reply.status, reply.text]).toEqual([direct.status, direct.text]);
  });

  test.each(['/api/v1/../../../etc/passwd', '/api/v1/platforms/%00', '/api/v1/covers/%E0%A4%A'])(
    'refuses "%s" itself as malformed',
    async (target) => {
      expectOwnError(await send(target + secret, { headers: keyed }), 400, 'Bad request');
    },
  );

  test('sends the real address, host and scheme to the proxy, once each', async () => {
    const forged = '198.51.100.7';
    const headers = { ...keyed, 'x-forwarded-for': forged, forwarded: `for=${forged}` };
    const more = { 'x-forwarded-proto': 'http', connection: 'close', upgrade: 'h2c' };
    const fields = protocol === 'HTTP/1.1' ? { ...headers, ...more } : headers;
    expect((await send('/api/v1//x?y#z', { headers: fields })).status).toBe(404);
    expect(lastSent).toMatch(/^GET \/api\/v1\/\/x\?y#z HTTP\/1\.1\r\n/);
    const sent = lastSent
      .split('\r\n')
      .filter((field) => /^(x-forwarded|forwarded|host|connection|upgrade)/i.test(field));
    expect(sent.toSorted()).toEqual([
      `Host: ${SERVER_NAME}`,
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Proto: https',
    ]);
  });

  test('limits guesses by the real address, regardless of the addresses that the client claims', async () => {
    const from = protocol === 'HTTP/1.1' ? '127.0.0.9' : '127.0.0.10';
    const guess = (i: number) => {
      const forged = `198.51.100.${i}`;
      const headers = {
        'x-api-key': makeKey(),
        'x-forwarded-for': i % 2 ? forged : [forged, '127.0.0.1'],
        'x-real-ip': forged,
        forwarded: `for=${forged}`,
      };
      return send('/api/v1/stats', { headers, from });
    };
    const replies: FrontReply[] = [];
    for (let i = 0; i < ADDRESS_LIMIT + 2; i++) replies.push(await guess(i));
    expect(replies.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(Number(replies.at(-1)?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    // The address in a forged X-Forwarded-For is not affected.
    const other = await sendHttp1(nginx, '/api/v1/stats', {
      from: '127.0.0.11',
      headers: { 'x-forwarded-for': from },
    });
    expect(other.status).toBe(401);
  });

  test('forwards a request line of up to 8,192 bytes', async () => {
    const target = `/api/v1/search?q=${'+'.repeat(8_192)}`.slice(0, 8_192 - 'GET  HTTP/1.1'.length);
    expect((await send(target, { headers: keyed })).status).toBe(200);
    expect((await send(`${target}+`, { headers: keyed })).status).toBe(414);
  });

  test('refuses a head that is too large', async () => {
    const target = `/api/v1/search${secret}`;
    const many = Array.from({ length: 30 }, (_, i) => [`x-${i}`, 'X'.repeat(1000)] as const);
    const cases = [
      [target, { 'x-filler': 'X'.repeat(9000) }, 431, 'Request header too large'],
      [target, Object.fromEntries(many), 431, 'Request header too large'],
      [`${target}${'X'.repeat(9000)}`, {}, 414, 'Request target too long'],
    ] as const;
    for (const [long, fields, status, error] of cases) {
      const headers = { ...keyed, ...fields };
      if (protocol === 'HTTP/2') {
        await expect(send(long, { headers })).rejects.toThrow('error code 11');
      } else expectOwnError(await send(long, { headers }), status, error);
    }
  });

  test('refuses a body', async () => {
    for (const method of ['GET', 'POST']) {
      for (const length of [1, 2000]) {
        const options = { method, headers: keyed, body: 'x'.repeat(length) };
        const reply = await send(`/api/v1/search${secret}`, options);
        expectOwnError(reply, 400, NO_BODY);
      }
    }
  });
});

describe("nginx's own response", () => {
  const line = (target: string, version = 'HTTP/1.1') => `GET ${target}${secret} ${version}\r\n`;
  const host = `Host: ${SERVER_NAME}\r\nX-Api-Key: ${key.key}\r\n`;
  const stats = line('/api/v1/stats');

  const coded = (coding: string) => `${stats}${host}Transfer-Encoding: ${coding}\r\n`;
  test.each<[string, string, number, string]>([
    ['bytes that are not HTTP', `NONSENSE ${secret}\r\n\r\n`, 400, 'Bad request'],
    ['two Hosts', `${stats}${host}Host: y\r\n\r\n`, 400, 'Bad request'],
    ['another version', `${line('/api/v1/stats', 'HTTP/2.0')}${host}\r\n`, 400, 'Bad request'],
    ['TRACE', `${stats.replace('GET', 'TRACE')}${host}\r\n`, 405, 'Method not allowed'],
    ['CONNECT', `CONNECT a.example:443 HTTP/1.1\r\n${host}\r\n`, 400, 'Bad request'],
    ['a chunked body', `${coded('chunked')}\r\n0\r\n\r\n`, 400, NO_BODY],
    ['an unknown transfer coding', `${coded('xchunked')}\r\n`, 400, NO_BODY],
    ['both framings', `${coded('chunked')}Content-Length: 1\r\n\r\n`, 400, 'Bad request'],
  ])('to %s is one JSON error, and it closes the connection', async (_, bytes, status, error) => {
    const reply = parseReply(await exchange(bytes));
    expectOwnError(reply, status, error);
    expect(reply.headers.allow).toBe(status === 405 ? 'GET, HEAD, OPTIONS' : undefined);
  });

  test('is an error with Retry-After while the proxy is down or does not answer', async () => {
    const down = await startNginx(await freePort());
    const silent = await listenOn(createServer());
    // Otherwise the test would wait for half a minute.
    const late = await startNginx(silent, [['proxy_read_timeout 10s;', 'proxy_read_timeout 1s;']]);
    for (const [front, status, error] of [
      [down, 502, 'Bad gateway'],
      [late, 504, 'Gateway timeout'],
    ] as const) {
      for (const reply of [
        await sendHttp1(front, `/api/v1/search${secret}`, { headers: keyed }),
        await sendHttp2Once(front, `/api/v1/search${secret}`, { headers: keyed }),
      ]) {
        expectOwnError(reply, status, error);
        expect(reply.headers['retry-after']).toBe('5');
      }
      await front.stop();
      expectNoSecret(front.logs());
      expect(accessLog(front).map((entry) => entry.status)).toEqual([status, status]);
    }
  });
});

test('an address in the file of refused ones gets a JSON error for every path, and others do not', async () => {
  const denied = '127.0.0.66';
  const folder = makeFolder();
  writeFileSync(path.join(folder, 'cover-catalogue-deny.conf'), `deny ${denied};\n`);
  const front = await startNginx(relayPort, [
    ['include /etc/nginx/cover-catalogue-deny', `include ${folder}/cover-catalogue-deny`],
  ]);
  for (const target of ['/api/v1/stats', '/', '/docs', '/explore', '/account', '/moderation']) {
    const reply = await sendHttp1(front, target, { headers: keyed, from: denied });
    expectOwnError(reply, 403, 'Forbidden');
    const allowed = await sendHttp1(front, target, { headers: keyed });
    expect([target, allowed.status]).not.toEqual([target, 403]);
  }
  await front.stop();
});

describe('connections', () => {
  test('to the proxy are kept for later requests', async () => {
    const session = await openHttp2(nginx);
    const before = upstreamConnections;
    for (let i = 0; i < 30; i++) {
      const reply = await sendHttp2(session, '/api/v1/stats', { headers: keyed });
      expect(reply.status).toBe(200);
    }
    // One that was idle for too long may have been closed.
    expect(upstreamConnections - before).toBeLessThanOrEqual(1);
    session.destroy();
  });

  test('carry at most 100 simultaneous requests of one address; other addresses are not affected', async () => {
    // A client that accepts one byte of each body keeps its requests under way.
    const from = '127.0.0.20';
    const greedy = [
      await openHttp2(nginx, { initialWindowSize: 1 }, from),
      await openHttp2(nginx, { initialWindowSize: 1 }, from),
    ] as const;
    expect(greedy[0].remoteSettings.maxConcurrentStreams).toBe(64);
    const statusOf = (own: ClientHttp2Session) =>
      new Promise<number>((resolve, reject) => {
        own
          .request({ ':path': `/api/v1/search${secret}`, ...keyed })
          .on('error', reject)
          .once('response', (headers) => resolve(Number(headers[':status'])));
      });
    const statuses: number[] = [];
    for (let i = 0; i < 104; i++) statuses.push(await statusOf(i < 64 ? greedy[0] : greedy[1]));
    expect(statuses).toEqual(Array.from({ length: 104 }, (_, i) => (i < 100 ? 200 : 429)));
    const refused = await sendHttp1(nginx, `/api/v1/search${secret}`, { headers: keyed, from });
    expectOwnError(refused, 429, 'Too many requests at once');
    expect(refused.headers['retry-after']).toBe('1');
    const other = await sendHttp1(nginx, '/api/v1/stats', { headers: keyed, from: '127.0.0.21' });
    expect(other.status).toBe(200);
    for (const own of greedy) own.destroy();
  });
});

interface LogEntry {
  readonly path: string;
  readonly status: number;
  readonly address: string;
  readonly key: string;
}

function accessLog(front: RunningNginx): LogEntry[] {
  const lines = (front.logs()['access.log'] ?? '').trim().split('\n');
  return lines.map((text) => {
    const entry = JSON.parse(text);
    return { ...entry, status: Number(entry.status) };
  });
}

function expectNoSecret(logs: Record<string, string>): void {
  expect(Object.keys(logs)).toEqual(expect.arrayContaining(['access.log', 'error.log', 'stderr']));
  for (const [name, text] of Object.entries(logs)) {
    for (const hidden of [key.key, key.key.slice(4), MARK, 'key=']) {
      expect(text.includes(hidden), `${hidden} in ${name}`).toBe(false);
    }
  }
}

const withoutPrefix = key.key.slice(4);
const encoded = key.key.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
/** Targets with a key in the path. */
const HIDDEN = [
  ...[`/api/v1/games/${key.key}/x`, `/docs/${key.key}`, `/api/v1/stats/${withoutPrefix}`],
  ...[`/account/${key.key.toUpperCase()}`, `/api/v1/${encoded}`, `/api/v1/%63${key.key.slice(1)}`],
  ...[`/%2563${key.key.slice(1)}`, encoded.replaceAll('%', '/%25'), `/${withoutPrefix.slice(8)}`],
  `/${withoutPrefix.replace(/.(?=.{19}$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)}`,
];

test('the logs have the address, path and status of each request and the number of its key, never a key or a query', async () => {
  await sendHttp1(nginx, `/api/v1/stats/${key.key}`, { headers: keyed });
  for (const hidden of HIDDEN) {
    await sendHttp1(nginx, hidden, {
      headers: { ...keyed, referer: `https://x.example${hidden}` },
    });
    await sendHttp2Once(nginx, hidden, { headers: keyed });
  }
  await sendHttp1(nginx, '/api/v1/platforms', { headers: { ...keyed, 'x-request-id': 'named' } });
  await sendHttp2Once(nginx, '/api/v1/nowhere', { headers: keyed });
  await sendHttp1(nginx, '/api/v1/covers');
  await sendHttp1(nginx, `/api//v1/pok%C3%A9mon%20${secret}`, {
    headers: keyed,
    from: '127.0.0.30',
  });
  await nginx.stop();
  expectNoSecret(nginx.logs());
  const entries = accessLog(nginx);
  expect(entries.at(-1)).toMatchObject({
    path: '/api//v1/pok%C3%A9mon%20',
    status: 404,
    address: '127.0.0.30',
  });
  expect(entries.slice(-4, -1)).toMatchObject([
    { path: '/api/v1/platforms', status: 200, key: '1', id: 'named' },
    { path: '/api/v1/nowhere', status: 404, key: '1', protocol: 'HTTP/2.0' },
    { path: '/api/v1/covers', status: 401, key: '' },
  ]);
  const hidden = entries.filter((entry) => entry.path === '(left out: it may hold a key)');
  expect(hidden.length).toBeGreaterThanOrEqual(2 * HIDDEN.length + 1);
  const statuses = entries.map(({ status }) => status);
  expect(statuses).toEqual(expect.arrayContaining([200, 304, 400, 401, 404, 405, 414, 429, 431]));
  // An error has the path of the request, not that of the error page.
  expect(entries.find((entry) => entry.status === 431)?.path).toBe('/api/v1/search');
  expect(nginx.logs()['error.log']).not.toMatch(/\[(?:error|crit|alert|emerg)\]/);
});
