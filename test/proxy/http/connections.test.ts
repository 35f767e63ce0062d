/**
 * More connections than a thread may have. Unused ones are closed to make room for others, and never one
 * with a request under way.
 */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { makeConnectionLimit, type Shares } from '../../../program/connection-limit.ts';
import {
  allowConnections,
  countConnections,
  mostForwards,
  newConnectionCells,
} from '../../../program/connections.ts';
import { shareOut } from '../../../proxy/admin/connection-limit.ts';
import type { ApiHandler, Responder } from '../../../proxy/http/message/responder.ts';
import { makeServer, type ServerOptions } from '../../../proxy/http/server.ts';
import { makeLog } from '../../support/log.ts';
import { makeFolder, NEVER, send, startProxy } from '../../support/product.ts';
import { openSocket, readToEnd } from '../../support/servers/sockets.ts';

const MOST = 8;
const USUAL = 'GET /api/v1/stats HTTP/1.1\r\nHost: x\r\n\r\n';
const TO_NODE = USUAL.replace('GET', 'HEAD');
const LATE = USUAL.replace('stats', 'late');

const answer = (response: Responder, body = Buffer.from('{}')) =>
  response.send({
    head: { status: 200, headers: ['Content-Length', String(body.length)] },
    headers: [],
    body,
  });

/** Serves with at most {@link MOST} connections. */
async function serve(
  api: ApiHandler = (_, response) => answer(response),
  options: ServerOptions = {},
) {
  const cells = newConnectionCells();
  allowConnections(cells, MOST, 1);
  const log = pino({ level: 'silent' });
  const http = makeServer(api, () => {}, log, { connections: cells, ...options });
  http.server.listen(0, '127.0.0.1');
  await once(http.server, 'listening');
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    http.closeAllConnections();
    http.server.close();
  });
  const { port } = http.server.address() as AddressInfo;
  async function open(): Promise<Socket> {
    const socket = await openSocket(port);
    socket.on('error', () => {});
    sockets.push(socket);
    return socket;
  }
  return {
    cells,
    open,
    /** Opens connections and sends the same bytes on each; a whole request is answered before the next. */
    async openMany(count: number, first: string): Promise<Socket[]> {
      const opened: Socket[] = [];
      for (let i = 0; i < count; i++) {
        const socket = await open();
        opened.push(socket.resume());
        if (first !== '') socket.write(first);
        if (first.endsWith('\r\n\r\n')) await once(socket, 'data');
      }
      return opened;
    },
    /** Sends a request on a new connection. @returns its response; '' if the connection was refused */
    async request(): Promise<string> {
      const socket = await open();
      const received = readToEnd(socket);
      socket.write(USUAL.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
      return received;
    },
  };
}

test.each([
  ['send nothing', ''],
  ['stay after a response', USUAL],
  ['stay after a response through Node’s parser', TO_NODE],
  ['send half a head', USUAL.slice(0, 40)],
])('connections that %s keep nobody out', async (_, first) => {
  const { cells, openMany, request } = await serve();
  await openMany(5 * MOST, first);
  expect(await request()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  const { open, closed, refused } = countConnections([cells]);
  expect(open).toBeLessThanOrEqual(MOST);
  expect([closed, refused]).toEqual([4 * MOST + 1, 0]);
});

test('clients that use their connections keep them while unused ones are closed', async () => {
  const { cells, openMany } = await serve();
  const used = await openMany(4, '');
  for (let round = 0; round < 6; round++) {
    // Half of the requests go through Node's parser.
    for (const [index, socket] of used.entries()) {
      const answered = once(socket, 'data');
      socket.write(index % 2 === 0 ? USUAL : TO_NODE);
      await answered;
    }
    await openMany(MOST / 2, USUAL);
  }
  expect(used.filter(({ closed }) => closed)).toEqual([]);
  expect(countConnections([cells]).closed).toBe(5 * (MOST / 2));
});

test('a client that does not read is disconnected if others need its connection, but only after 3 s', async () => {
  const clock = { now: 0 };
  const large = Buffer.alloc(64 * 1024 * 1024);
  const { open, request } = await serve(
    ({ target }, response) => answer(response, target === '/late' ? large : undefined),
    { now: () => clock.now },
  );
  for (let i = 0; i < MOST; i++) {
    const socket = await open();
    socket.write(LATE);
    await once(socket, 'data');
    socket.pause();
  }
  clock.now += 2_999;
  expect(await request()).toBe('');
  // At each try, the kernel may still have taken bytes that it had not taken before.
  let response = '';
  for (let tries = 0; response === '' && tries < 20; tries++) {
    clock.now += 3_000;
    response = await request();
  }
  expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

test.each([
  ['on the fast path', LATE],
  ['through Node’s parser', LATE.replace('GET', 'HEAD')],
])('a request under way keeps its connection, however long it takes, %s', async (_, request) => {
  const begun = Promise.withResolvers<Responder>();
  const { open, openMany } = await serve(({ target }, response) => {
    if (target === '/late') begun.resolve(response);
    else answer(response);
  });
  const socket = await open();
  socket.write(request);
  const response = await begun.promise;
  await openMany(3 * MOST, USUAL);
  const received = once(socket.setEncoding('latin1'), 'data');
  answer(response);
  expect((await received)[0]).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

test('if the limit falls, connections are closed although no new one comes', async () => {
  const { cells, openMany } = await serve(undefined, { trimMs: 1 });
  const sockets = await openMany(MOST, USUAL);
  const closed = sockets.slice(0, MOST - 2).map((socket) => once(socket, 'close'));
  allowConnections(cells, 2, 1);
  await Promise.all(closed);
  expect(countConnections([cells])).toEqual({ open: 2, closed: MOST - 2, refused: 0 });
});

test('unfinished requests to the admin address keep no other request out', async () => {
  const proxy = await startProxy(makeFolder(), {}, NEVER);
  const port = Number(new URL(proxy.adminUrl).port);
  const sockets: Socket[] = [];
  for (let i = 0; i < 40; i++) {
    const socket = await openSocket(port);
    socket.on('error', () => {}).resume();
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
    sockets.push(socket);
  }
  const headers = { connection: 'close' };
  expect((await send(`${proxy.adminUrl}/healthz`, { headers })).status).toBe(200);
  expect((await send(`${proxy.adminUrl}/readyz`, { headers })).status).toBe(503);
  for (const socket of sockets) socket.destroy();
  await proxy.stop();
});

describe('the limit on open files', () => {
  test('is divided among its uses without exceeding it', () => {
    for (const limit of [200, 1_024, 4_096, 20_000]) {
      for (const isForwarding of [false, true]) {
        const inUse = 30;
        const platforms = 20;
        const { connections, forwards } = shareOut({ limit, inUse }, platforms, isForwarding);
        expect(forwards > 0).toBe(isForwarding);
        expect(inUse + 2 * platforms + connections + forwards).toBeLessThan(limit - 40);
      }
    }
  });

  test('still allows some connections if it is too low', () => {
    expect(shareOut({ limit: 100, inUse: 30 }, 20, true)).toEqual({
      connections: 16,
      forwards: 4,
      isTooLow: true,
    });
  });

  test('does not make connections unlimited if it is unlimited', () => {
    const files = { limit: Number.POSITIVE_INFINITY, inUse: 30 };
    expect(shareOut(files, 20, true)).toEqual({
      connections: 16_384,
      forwards: 64,
      isTooLow: false,
    });
  });
});

describe('the limit on connections', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  function watch(shares: Shares) {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const threads = [newConnectionCells(), newConnectionCells()];
    const inUse: number[] = [];
    const log = makeLog();
    const current = { shares };
    const limit = makeConnectionLimit(
      threads,
      (files) => {
        inUse.push(files.inUse);
        return current.shares;
      },
      pino({}, log),
    );
    limit.start();
    onTestFinished(limit.stop);
    const messages = () =>
      log
        .text()
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line).msg]));
    return { threads, inUse, limit, current, messages };
  }

  test('is shared by the threads, and follows the number of other open files', () => {
    const shares = { connections: 21, forwards: 5, isTooLow: false };
    const { threads, limit, current, inUse } = watch(shares);
    expect(limit.connections()).toBe(21);
    expect(threads.map(([most]) => most)).toEqual([10, 10]);
    expect(threads.map(mostForwards)).toEqual([2, 2]);
    // The connections of clients are not among the other open files.
    (threads[0] as Float64Array)[1] = 4;
    current.shares = { connections: 40, forwards: 0, isTooLow: false };
    vi.advanceTimersByTime(1_000);
    expect(threads.map(([most]) => most)).toEqual([20, 20]);
    expect((inUse[0] as number) - (inUse[1] as number)).toBe(4);
  });

  test('is warned about once while it is too low', () => {
    const { current, messages } = watch({ connections: 16, forwards: 0, isTooLow: true });
    vi.advanceTimersByTime(3_000);
    const tooLow = 'the limit on open files is too low: raise it (ulimit -n, LimitNOFILE)';
    expect(messages()).toEqual([tooLow]);
    current.shares = { connections: 20, forwards: 0, isTooLow: false };
    vi.advanceTimersByTime(1_000);
    current.shares = { connections: 16, forwards: 0, isTooLow: true };
    vi.advanceTimersByTime(1_000);
    expect(messages()).toEqual([tooLow, tooLow]);
  });

  test('logs when connections are dropped, and when none was for five seconds', () => {
    const { threads, messages } = watch({ connections: 16, forwards: 0, isTooLow: false });
    const drop = (thread: number, cell: number) => {
      (threads[thread] as Float64Array)[cell] += 1;
    };
    vi.advanceTimersByTime(2_000);
    expect(messages()).toEqual([]);
    for (let second = 0; second < 4; second++) {
      drop(second % 2, 2 + (second % 2));
      vi.advanceTimersByTime(1_000);
    }
    expect(messages()).toEqual([expect.stringMatching(/^too many connections/)]);
    vi.advanceTimersByTime(4_000);
    expect(messages()).toHaveLength(1);
    vi.advanceTimersByTime(1_000);
    expect(messages().slice(1)).toEqual(['connections are within the limit again']);
    drop(1, 2);
    vi.advanceTimersByTime(1_000);
    expect(messages()).toHaveLength(3);
  });
});
