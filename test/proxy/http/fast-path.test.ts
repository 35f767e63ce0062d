/**
 * Connections with both kinds of requests: usual ones, which the fast path reads, and others, which
 * Node's parser reads. A client cannot tell which of the two has read a request.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { CLIENT_LIMITS } from '#lib/program/connections.ts';
import { makeRequestReader } from '#proxy/http/fast-path.ts';
import { BASE, type RequestHead, readHead } from '#proxy/http/request.ts';
import type { ApiHandler, Responder } from '#proxy/http/response.ts';
import { HttpServer } from '#proxy/http/server.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';
import { listenOn, openSocket, readToEnd, statusesIn } from '#test/support/servers/sockets.ts';

const key = testKey(1);
const proxy = await startProxy(await makeSampleSnapshots([key]), {}, NEVER);
const { text: stats, headers } = await proxy.get('/stats', key.key);

const fields = (more = '') => `Host: x\r\nX-Api-Key: ${key.key}\r\n${more}\r\n`;
const usual = (target = '/api/v1/stats', more = '') => `GET ${target} HTTP/1.1\r\n${fields(more)}`;
const others: Record<string, string> = {
  'a HEAD': `HEAD /api/v1/stats HTTP/1.1\r\n${fields()}`,
  'a preflight': `OPTIONS /api/v1/stats HTTP/1.1\r\n${fields()}`,
  'a page of the site': `GET /docs HTTP/1.1\r\n${fields()}`,
  'an odd target': usual('/api/v1/games/snes/a"b'),
  'an odd field': usual('/api/v1/stats', 'X-Note: \x80\r\n'),
  'a length of zero': usual('/api/v1/stats', 'Content-Length: 0\r\n'),
};
const CLOSE = 'Connection: close\r\n';
const last = usual('/api/v1/stats', CLOSE);

/** Sends each piece in its own packet, and reads until the server closes. */
async function exchange(...pieces: string[]): Promise<string> {
  const socket = (await openSocket(proxy.port)).setNoDelay(true);
  const received = readToEnd(socket);
  for (const piece of pieces) {
    socket.write(piece, 'latin1');
    await turns();
  }
  return received;
}

/** So many turns of the event loop that the server, in this process, has accepted and read what was sent. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await nextTurn();
}

test.each(Object.entries(others))(
  '%s is answered between usual requests, in one packet or several',
  async (_, other) => {
    for (const pieces of [[usual() + other + usual() + last], [usual(), other, usual(), last]]) {
      const received = await exchange(...pieces);
      expect(statusesIn(received)).toHaveLength(4);
      // The other response may have the same body.
      expect(received.split(stats).length).toBeGreaterThanOrEqual(4);
      expect(received.endsWith(stats)).toBe(true);
    }
  },
);

/** The sorted lines of a response's head, without the values that differ between requests. */
function linesOf(response: string): string[] {
  const [head = ''] = response.split('\r\n\r\n', 1);
  return head
    .split('\r\n')
    .map((line) => line.replace(/^(Date|X-RateLimit-Re\w+|X-Request-Id): .+$/, '$1'))
    .toSorted();
}

test.each([
  ['a resource', '/api/v1/stats', '', 200],
  ['an unchanged resource', '/api/v1/stats', 'If-None-Match: *\r\n', 304],
  ['a page of a list', '/api/v1/platforms/snes/games?per_page=1', '', 200],
  ['an error', '/api/v1/nothing', '', 404],
])('the response with %s has the same head on both paths', async (_, target, more, status) => {
  for (const connection of ['', 'Connection: close\r\n']) {
    const request = usual(target, more + connection);
    // A request with this field goes through Node's parser.
    const other = usual(target, `${more}${connection}Content-Length: 0\r\n`);
    const [fast, slow] = await Promise.all([firstHead(request), firstHead(other)]);
    expect(linesOf(fast)).toEqual(linesOf(slow));
    expect(statusesIn(fast)).toEqual([status]);
    expect(fast).toContain(
      connection === '' ? 'Connection: keep-alive\r\nKeep-Alive: timeout=65\r\n' : connection,
    );
  }
});

/** The head of the response to a request. */
async function firstHead(request: string, port = proxy.port): Promise<string> {
  const socket = await openSocket(port);
  let received = '';
  socket.setEncoding('latin1');
  socket.write(request, 'latin1');
  for await (const part of socket) {
    received += part;
    if (received.includes('\r\n\r\n')) break;
  }
  return received.slice(0, received.indexOf('\r\n\r\n') + 4);
}

test('the Date of a response is the current second', async () => {
  const start = Date.parse('2026-02-03T04:05:06.700Z');
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout'], now: start });
  try {
    const { port } = await serveLarge(Buffer.alloc(0));
    const dateOf = async () => /^Date: (.+)\r$/m.exec(await firstHead(usual(), port))?.[1];
    expect(await dateOf()).toBe('Tue, 03 Feb 2026 04:05:06 GMT');
    vi.advanceTimersByTime(299);
    expect(await dateOf()).toBe('Tue, 03 Feb 2026 04:05:06 GMT');
    vi.advanceTimersByTime(1);
    expect(await dateOf()).toBe('Tue, 03 Feb 2026 04:05:07 GMT');
  } finally {
    vi.useRealTimers();
  }
});

test('a head may arrive in two packets, divided anywhere', async () => {
  const text = usual() + last;
  for (let at = 1; at < text.length; at += 13) {
    const received = await exchange(text.slice(0, at), text.slice(at));
    expect(statusesIn(received), `cut at ${at}`).toEqual([200, 200]);
  }
});

test('an unknown method is refused wherever its bytes are divided', async () => {
  const text = usual().replace('GET', 'ABC');
  for (let at = 1; at < text.length; at += 5) {
    const received = await exchange(text.slice(0, at), text.slice(at));
    expect(statusesIn(received), `cut at ${at}`).toEqual([405]);
  }
});

test('a response that takes longer delays the responses after it', async () => {
  // It is compressed asynchronously, and not compressed yet.
  const page = '/api/v1/search?per_page=100&sort=year_desc&page=1';
  const received = await exchange(
    usual(page, 'Accept-Encoding: br\r\n') + usual() + usual(),
    others['a HEAD'] + last,
  );
  expect(statusesIn(received)).toEqual([200, 200, 200, 200, 200]);
  expect(received.indexOf('Content-Encoding: br')).toBeLessThan(received.indexOf(stats));
});

/** Serves responses of 240 KB. @returns its port, and how many requests it was asked to answer */
async function serveLarge(body = Buffer.alloc(240_000)) {
  let asked = 0;
  const api: ApiHandler = (_, response) => {
    asked++;
    response.send({ status: 200, headers: `Content-Length: ${body.length}\r\n`, body });
  };
  return { port: await listenFor(api), asked: () => asked };
}

/** @returns the port */
async function listenFor(api: ApiHandler): Promise<number> {
  const never = { headersTimeout: 1e8, requestTimeout: 1e8, keepAliveTimeout: 1e8 };
  const limits = { ...CLIENT_LIMITS, ...never };
  const http = new HttpServer(api, () => {}, pino({ level: 'silent' }), { limits });
  atEndOfFile(() => http.closeAllConnections());
  return listenOn(http.server);
}

describe('a client that has ended its side of the connection', () => {
  test.each<[string, () => string]>([
    ['usual requests', () => usual() + usual()],
    ['a request that is answered later', () => usual('/api/v1/search', 'Accept-Encoding: br\r\n')],
    ...Object.entries(others).map(
      ([name, other]) => [name, () => other + other] as [string, () => string],
    ),
    [
      'a last request that is compressed',
      () => usual('/api/v1/search', `${CLOSE}Accept-Encoding: gzip\r\n`),
    ],
    ['a list of changes', () => usual(`/api/v1/changes?since=${headers['x-snapshot']}`, CLOSE)],
    ['a download', () => usual('/api/v1/snapshot')],
    [
      'a whole file after a usual request',
      () => usual() + usual('/api/v1/snapshot/files/stats.json'),
    ],
    [
      'a download before a request that cannot be read',
      () => `${usual('/api/v1/snapshot')}GET /api/v1/stats HTTP/1.1\r\nNonsense\r\n\r\n`,
    ],
  ])('gets the whole response to %s', async (_, requests) => {
    const socket = await openSocket(proxy.port);
    const received = readToEnd(socket);
    const text = requests();
    socket.end(text, 'latin1');
    const count = text.split('\r\n\r\n').length - 1;
    const answers = statusesIn(await received);
    expect(answers).toHaveLength(count);
    expect(answers.every((status) => status < 500)).toBe(true);
  });

  test.each([
    ['the fast path', usual(), 100],
    [
      'Node’s parser',
      others['a HEAD'].replace('HEAD', 'GET').replace('Host', 'TE: trailers\r\nHost'),
      100,
    ],
  ])('gets all large responses to pipelined requests, through %s', async (_, request, count) => {
    const { port, asked } = await serveLarge();
    const socket = await openSocket(port);
    let received = 0;
    socket.on('data', (part) => {
      received += part.length;
    });
    socket.end(request.repeat(count));
    await once(socket, 'close');
    expect(asked()).toBe(count);
    expect(received).toBeGreaterThan(count * 240_000);
  });
});

describe.each([
  ['on the fast path', usual()],
  ['through Node’s parser', others['a HEAD']],
])('while a response is being made, %s', (_, request) => {
  /** Sends the request and then what `leave` does. @returns both ends, and the responder */
  async function begin(leave: (socket: Socket) => void) {
    const begun = Promise.withResolvers<[Socket, Responder]>();
    const port = await listenFor(({ socket }, responder) =>
      begun.resolve([socket as Socket, responder]),
    );
    const client = await openSocket(port);
    client.write(request);
    const [socket, responder] = await begun.promise;
    leave(client);
    return { client, socket, responder };
  }

  test('a client that breaks its connection is noticed', async () => {
    const { socket } = await begin((client) => client.resetAndDestroy());
    await new Promise((resolve) => socket.once('close', resolve));
    expect(socket.destroyed).toBe(true);
  });

  test('a client that has ended its side gets its response', async () => {
    const { client, socket, responder } = await begin((client) => client.end());
    await once(socket, 'end');
    const received = readToEnd(client);
    responder.send({ status: 200, headers: 'Content-Length: 0\r\n', body: Buffer.alloc(0) });
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

test('a client that sends requests behind one that is not answered yet is not read until it is', async () => {
  const answers: (() => void)[] = [];
  const first = Promise.withResolvers<Socket>();
  const port = await listenFor(({ socket }, response) => {
    answers.push(() => response.send({ status: 204, headers: '', body: Buffer.alloc(0) }));
    first.resolve(socket as Socket);
  });
  const client = await openSocket(port);
  const requests = 5_000;
  client.write(
    others['a HEAD'].repeat(requests - 1) +
      others['a HEAD'].replace('\r\n\r\n', `\r\n${CLOSE}\r\n`),
  );
  const received = readToEnd(client);
  const socket = await first.promise;
  await once(socket, 'pause');
  expect(answers.length).toBe(1);
  for (let answered = 0; answered < requests; ) {
    if (answers.length > answered) answers[answered++]();
    else await nextTurn();
  }
  expect(statusesIn(await received)).toHaveLength(requests);
});

test('requests of a client that has left are not answered', async () => {
  const { port, asked } = await serveLarge();
  const socket = await openSocket(port);
  socket.write(usual().repeat(200));
  await once(socket, 'data');
  socket.resetAndDestroy();
  await turns();
  expect(asked()).toBeLessThan(100);
});

test('the proxy stops answering a client that sends requests and never reads, until it does', async () => {
  const requests = 200;
  const { port, asked } = await serveLarge();
  const socket = await openSocket(port);
  socket.write(usual().repeat(requests - 1) + last);
  await once(socket, 'data');
  socket.pause();
  await turns();
  // As many as the kernel has room for.
  expect(asked()).toBeLessThan(requests / 2);
  socket.resume();
  await once(socket, 'close');
  expect(asked()).toBe(requests);
});

test('the fast path reads the same request head as Node’s parser', async () => {
  let received: { target: string | undefined; head: RequestHead } | undefined;
  const node = createServer((request, response) => {
    received = { target: request.url, head: readHead(request) };
    response.end();
  });
  const port = await listenOn(node);
  let read = 0;
  for (let seed = 0; seed < 300; seed++) {
    const text = randomHead(makeRandom(seed));
    const request = makeRequestReader()(Buffer.from(text, 'latin1'), 0);
    if (request === undefined) continue;
    read++;
    received = undefined;
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
      socket.once('data', () => socket.destroy());
      socket.once('close', () => resolve());
    });
    expect(received, JSON.stringify(text)).toEqual({
      target: BASE + request.target,
      head: request.head,
    });
    expect(request.end).toBe(text.length);
  }
  // The fast path reads some of these heads, but not all.
  expect(read).toBeGreaterThan(30);
  expect(read).toBeLessThan(270);
});

test('a head that is too long is refused even if its fields were read before', () => {
  const read = makeRequestReader();
  const readHeadOf = (targetLength: number) => {
    const text = `GET ${BASE}/${'a'.repeat(targetLength)} HTTP/1.1\r\nHost: ${'x'.repeat(5_000)}\r\n\r\n`;
    return read(Buffer.from(text), 0);
  };
  expect(readHeadOf(10)?.target).toHaveLength(11);
  expect(readHeadOf(2_000)?.target).toHaveLength(2_001);
  expect(readHeadOf(4_000)).toBeUndefined();
});

function randomHead(random: Random): string {
  const path = random.pick(['/stats', '/search?q=a%20b&page=2', '/games/a/b', '/covers/1', '/']);
  const target = `/api/v1${path}${random.happens(0.1) ? random.pick(['#a', '"', '\x7f', ' ', '']) : ''}`;
  const names = [
    ...['X-Api-Key', 'x-api-KEY', 'Authorization', 'If-None-Match', 'Accept-Encoding'],
    ...['X-Forwarded-For', 'X-Snapshot', 'User-Agent', 'Cookie', 'X_Odd', 'Connection'],
  ];
  const values = ['cck_abc', 'Bearer  cck_abc', '"a", W/"b"', 'gzip, br;q=0.5', '', 'keep-alive'];
  const space = () => random.pick(['', ' ', '  ', '\t']);
  let text = `GET ${target} HTTP/1.1\r\nHost: a\r\n`;
  for (let i = random.below(6); i > 0; i--) {
    const odd = random.happens(0.05) ? random.pick(['\x00', '\x80', '\x0b', '\r']) : '';
    text += `${random.pick(names)}:${space()}${random.pick(values)}${odd}${space()}\r\n`;
  }
  return `${text}\r\n`;
}
