/**
 * The proxy in front of the account pages: which requests it forwards, which it refuses, and that no
 * request affects another one. A server that records its requests takes the place of the pages.
 */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { type ForwardParts, withForwarding } from '#site/forward.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { FRAME } from '#test/support/pages.ts';
import { send, startProxy, testKey } from '#test/support/product.ts';
import { listenOn, openSocket, sendRaw } from '#test/support/servers/sockets.ts';

const key = testKey(1);
const trustedProxies = new BlockList();
trustedProxies.addAddress('127.0.0.1');
const LARGEST = 64 * 1024;
const GET_ACCOUNT = 'GET /account HTTP/1.1\r\nHost: a\r\n\r\n';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let forwarded: Received[] = [];
/** The open connections to the upstream; each change is an event. */
let openConnections = 0;
const counted = new EventEmitter();
/** Replaces the behaviour of the upstream for one test. */
let act: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;

const upstream = createServer(async (request, response) => {
  if (act !== undefined) {
    act(request, response);
    return;
  }
  const body = Buffer.concat(await request.toArray()).toString();
  const { method = '', url = '', headers } = request;
  forwarded.push({ method, url, headers, body });
  response.setHeader('Set-Cookie', ['a=1; HttpOnly', 'b=2']);
  if (url === '/account/elsewhere') response.writeHead(303, { Location: '/account/api-keys' });
  response.end(`request ${forwarded.length}`);
});
upstream.on('connection', (socket: Socket) => {
  openConnections++;
  counted.emit('change');
  socket.once('close', () => {
    openConnections--;
    counted.emit('change');
  });
});
const accountUrl = `http://127.0.0.1:${await listenOn(upstream)}`;
const proxy = await startProxy(await makeSampleSnapshots([key]), { ACCOUNT_URL: accountUrl });

beforeEach(() => {
  forwarded = [];
  act = undefined;
});

const raw = (text: string) => sendRaw(proxy.port, text);

const post = (path: string, body: string, fields = 'Connection: close\r\n') =>
  raw(
    `POST ${path} HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`,
  );

describe('the proxy forwards', () => {
  test.each([
    '/account',
    '/account/api-keys?done=x',
    '/moderation/api-keys/7',
    '/account/%61//x?q=%2e',
  ])('the unchanged path %s, and returns the whole response', async (path) => {
    const reply = await send(`${proxy.url}${path}`, { headers: { cookie: 'c=3' } });
    expect([reply.status, reply.text]).toEqual([200, 'request 1']);
    expect(reply.headers['set-cookie']).toEqual(['a=1; HttpOnly', 'b=2']);
    expect(forwarded).toMatchObject([
      { method: 'GET', url: path, headers: { cookie: 'c=3' }, body: '' },
    ]);
    expect(forwarded[0]?.headers.host).toBe(`127.0.0.1:${proxy.port}`);
  });

  test('a form, and returns a redirect that stays relative', async () => {
    const reply = await post('/account/elsewhere', 'a=1&b=%26');
    expect(reply).toMatch(/^HTTP\/1\.1 303 /);
    expect(reply).toMatch(/^location: \/account\/api-keys\r$/im);
    expect(forwarded).toMatchObject([{ method: 'POST', body: 'a=1&b=%26' }]);
    expect(forwarded[0]?.headers['transfer-encoding']).toBeUndefined();
    expect(forwarded[0]?.headers['content-length']).toBe('9');
  });

  test('a target in absolute form without its host', async () => {
    await raw('GET http://evil.example/account/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(forwarded.map(({ url }) => url)).toEqual(['/account/x']);
  });

  test('no other paths', async () => {
    const others = ['/accounts', '/accountx', '/Account', '//account', '/x/account', '/%61ccount'];
    for (const path of others) expect((await send(proxy.url + path)).status).toBe(404);
    expect((await proxy.get('/stats', key.key)).status).toBe(200);
    expect(forwarded).toEqual([]);
  });
});

describe('the forwarded client address', () => {
  const claims = { 'x-forwarded-for': '10.9.9.9', 'x-forwarded-proto': 'https' };

  test('is that of the connection if the client is not a trusted proxy', async () => {
    await send(`${proxy.url}/account`, {
      headers: { ...claims, forwarded: 'for=10.9.9.9', 'x-api-key': key.key },
    });
    expect(forwarded[0]?.headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
    });
    expect(forwarded[0]?.headers.forwarded).toBeUndefined();
    expect(forwarded[0]?.headers['x-api-key']).toBeUndefined();
  });

  test('includes the addresses from a trusted proxy', async () => {
    const port = await serveForwarding({ trustedProxies });
    await send(`http://127.0.0.1:${port}/account`, { headers: claims });
    expect(forwarded[0]?.headers).toMatchObject({
      'x-forwarded-for': '10.9.9.9, 127.0.0.1',
      'x-forwarded-proto': 'https',
    });
  });
});

describe('a form', () => {
  test.each([
    ['that is too large', 413, `Content-Length: ${LARGEST + 1}\r\n\r\n`],
    ['in chunks', 413, 'Transfer-Encoding: chunked\r\n\r\n5\r\na=1&b\r\n0\r\n\r\n'],
    ['with two hosts', 400, 'Host: b\r\nContent-Length: 0\r\n\r\n'],
    ['with a malformed host', 400, 'Content-Length: 0\r\n\r\n', '###'],
  ])('%s is refused and not forwarded', async (_name, status, rest, host = 'a') => {
    const reply = await raw(
      `POST /account HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\n${rest}`,
    );
    expect(reply).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(reply).toMatch(/^Content-Type: text\/html/m);
    expect(reply).toMatch(/^Connection: close\r$/m);
    expect(forwarded).toEqual([]);
  });

  test('of the largest size is forwarded', async () => {
    expect(await post('/account', 'a'.repeat(LARGEST))).toMatch(/^HTTP\/1\.1 200 /);
    expect(forwarded[0]?.body.length).toBe(LARGEST);
  });

  test('with Expect: 100-continue gets 100 and is forwarded', async () => {
    const fields = 'Expect: 100-continue\r\nConnection: close\r\n';
    expect(await post('/account', 'a=1', fields)).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /,
    );
    expect(forwarded[0]?.headers.expect).toBeUndefined();
  });
});

test('bytes after a request are never forwarded as a part of it', async () => {
  const hidden = 'GET /account/hidden HTTP/1.1\r\nHost: a\r\n\r\n';
  const both = 'Transfer-Encoding: chunked\r\n';
  expect(await post('/account/both', hidden, both)).not.toContain('request 2');
  await raw(
    `POST /account/named HTTP/1.1\r\nHost: a\r\nConnection: content-length, close\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
  );
  expect(forwarded.map(({ url }) => url)).toEqual(['/account/named']);
  expect(forwarded[0]?.body).toBe(hidden);
});

async function openConnectionsAre(count: number): Promise<void> {
  while (openConnections !== count) await once(counted, 'change');
}

test('the upstream connection is closed when its client resets its own', async () => {
  act = () => {};
  await openConnectionsAre(0);
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(proxy.port)));
  for (const socket of sockets) socket.write(GET_ACCOUNT);
  await openConnectionsAre(sockets.length);
  // A client that only ends its side still gets the page.
  for (const socket of sockets) socket.resetAndDestroy();
  await openConnectionsAre(0);
  expect(openConnections).toBe(0);
});

test('each request on a connection of a client is forwarded whole, on a connection of its own', async () => {
  let connections = 0;
  const count = () => connections++;
  upstream.on('connection', count);
  const get = 'GET /account HTTP/1.1\r\nHost: a\r\n';
  const hidden = 'GET /account/hidden HTTP/1.1\r\nHost: a\r\n\r\n';
  const form = `POST /account HTTP/1.1\r\nHost: a\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`;
  const reply = await raw(
    `${get}\r\n${form}${`${get}\r\n`.repeat(3)}${get}Connection: close\r\n\r\n`,
  );
  upstream.off('connection', count);
  expect(reply.match(/HTTP\/1\.1 200 /g)).toHaveLength(6);
  expect(connections).toBe(6);
  const bodies = forwarded.map(({ body }) => body);
  expect(bodies.toSorted()).toEqual(['', '', '', '', '', hidden]);
});

/** Forwards to the upstream without a proxy around it. @returns the port */
async function serveForwarding(changes: Partial<ForwardParts>): Promise<number> {
  const site = withForwarding(() => {}, {
    frame: FRAME,
    accountUrl,
    trustedProxies: new BlockList(),
    log: pino({ level: 'silent' }),
    ...changes,
  });
  return listenOn(createServer((request, response) => site(request, response, '/account')));
}

test('only so many requests of a client are forwarded at the same time, and others of it get 429', async () => {
  const port = await serveForwarding({ trustedProxies, limits: { mostForwards: 4 } });
  const url = `http://127.0.0.1:${port}/account`;
  const waiting: ServerResponse[] = [];
  const haveTwo = new Promise<void>((resolve) => {
    act = (_, response) => {
      waiting.push(response);
      if (waiting.length === 2) resolve();
    };
  });
  const first = [send(url), send(url)];
  await haveTwo;
  const refused = await send(url);
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5']);
  expect(waiting).toHaveLength(2);
  act = undefined;
  const other = { headers: { 'x-forwarded-for': '192.0.2.7' } };
  expect((await send(url, other)).status).toBe(200);
  for (const response of waiting) response.end('late');
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await send(url)).status).toBe(200);
});

test('clients that have not sent their whole form keep nobody waiting', async () => {
  const port = await serveForwarding({ limits: { mostForwards: 1 } });
  const head =
    'POST /account HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n';
  const slow = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const socket = await openSocket(port);
      socket.write(head);
      // "100 Continue": the request is here.
      await once(socket, 'data');
      return socket;
    }),
  );
  expect((await send(`http://127.0.0.1:${port}/account`)).status).toBe(200);
  for (const socket of slow) socket.destroy();
});

test('a client that does not read its page is cut off', async () => {
  const port = await serveForwarding({ limits: { longestDrainMs: 50 } });
  const isClosed = new Promise<void>((resolve) => {
    act = (_, response) => {
      response.once('close', () => {
        expect(response.writableFinished).toBe(false);
        resolve();
      });
      response.end(Buffer.alloc(50 * 2 ** 20));
    };
  });
  const socket = (await openSocket(port)).on('error', () => {}).pause();
  socket.write(GET_ACCOUNT);
  await isClosed;
  socket.destroy();
});

test('a page says that the account pages are not available, and the log nothing of a link', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const port = await serveForwarding({ accountUrl: 'http://127.0.0.1:1', log });
  const target = `http://127.0.0.1:${port}/account/api-keys?token=of-a-link`;
  const reply = await send(target, { headers: { accept: 'text/html,*/*;q=0.8' } });
  expect(reply.status).toBe(503);
  expect(reply.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'retry-after': '5',
    'cache-control': 'no-store',
  });
  expect(reply.text).toContain('<h1>The account pages are not available</h1>');
  const toProgram = await send(target);
  expect([toProgram.status, toProgram.text]).toEqual([
    503,
    '{"error":"The account pages are not available"}',
  ]);
  expect(lines.join()).toContain('cannot forward');
  expect(lines.join()).not.toContain('of-a-link');
});

test('pages that do not answer in time are not available', async () => {
  const port = await serveForwarding({ limits: { longestSilenceMs: 50 } });
  act = () => {};
  const reply = await send(`http://127.0.0.1:${port}/account`);
  expect([reply.status, reply.text]).toEqual([
    503,
    '{"error":"The account pages are not available"}',
  ]);
});

test('a truncated response of the pages is truncated for the client too', async () => {
  act = (_request, response) => {
    response.writeHead(200, { 'Content-Length': '100' });
    response.write('half', () => response.destroy());
  };
  await expect(send(`${proxy.url}/account`)).rejects.toThrow();
});

test('pages that fall silent in the middle of a response cost only that response', async () => {
  const port = await serveForwarding({ limits: { longestSilenceMs: 50 } });
  act = (_request, response) => {
    response.writeHead(200, { 'Content-Length': '100' });
    response.write('half');
  };
  // An error that nobody listens for would end the process, and this run of the tests.
  await expect(send(`http://127.0.0.1:${port}/account`)).rejects.toThrow();
});

test('without ACCOUNT_URL a page says that the account pages are not available', async () => {
  const port = await serveForwarding({ accountUrl: '' });
  const url = `http://127.0.0.1:${port}/account`;
  const reply = await send(url, { headers: { accept: 'text/html' } });
  expect([reply.status, reply.headers['retry-after']]).toEqual([503, '5']);
  expect(reply.text).toContain('<h1>The account pages are not available</h1>');
  expect((await send(url)).text).toBe('{"error":"The account pages are not available"}');
});
