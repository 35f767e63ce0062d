/**
 * More connections than a thread may have. Unused ones are closed to make room for others, and never one
 * with a request under way.
 */
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { countConnections, newConnectionCells } from '#lib/program/connections.ts';
import type { ApiHandler, Responder } from '#proxy/http/response.ts';
import { HttpServer } from '#proxy/http/server.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { listenOn, openSocket, readToEnd } from '#test/support/servers/sockets.ts';

const MOST = 8;
const USUAL = 'GET /api/v1/stats HTTP/1.1\r\nHost: x\r\n\r\n';
const TO_NODE = USUAL.replace('GET', 'HEAD');
const LATE = USUAL.replace('stats', 'late');

const answer = (response: Responder, body = Buffer.from('{}')) =>
  response.send({
    status: 200,
    headers: `Content-Length: ${body.length}\r\n`,
    body,
  });

/** Serves with at most {@link MOST} connections. */
async function serve(api: ApiHandler = (_, response) => answer(response)) {
  const cells = newConnectionCells(MOST);
  const log = pino({ level: 'silent' });
  const http = new HttpServer(api, () => {}, log, { connections: cells });
  const port = await listenOn(http.server);
  atEndOfFile(() => http.closeAllConnections());
  const open = async () => (await openSocket(port)).on('error', () => {});
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

test('a connection is unused again once its client has read a late response', async () => {
  const body = Buffer.alloc(40_000);
  const answered = new EventEmitter();
  const { open, openMany } = await serve(({ socket }, response) => {
    answer(response, body);
    answered.emit('answer', socket);
  });
  const client = (await open()).pause();
  let unsent = 0;
  while (unsent === 0) {
    const next = once(answered, 'answer');
    client.write(USUAL);
    const [{ writableLength }] = await next;
    unsent = writableLength;
  }
  const closed = once(client, 'close');
  client.resume();
  await openMany(4 * MOST, USUAL);
  expect(await closed).toEqual([false]);
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

test.each([
  ['on the fast path', '', LATE],
  ['through Node’s parser', '', LATE.replace('GET', 'HEAD')],
  ['on the fast path, behind another', USUAL, LATE],
  ['through Node’s parser, behind another', TO_NODE, LATE],
])(
  'a request under way keeps its connection, however long it takes, %s',
  async (_, before, late) => {
    const begun = Promise.withResolvers<Responder>();
    const { open, openMany } = await serve(({ target }, response) => {
      if (target === '/late') begun.resolve(response);
      else answer(response);
    });
    const socket = await open();
    socket.write(before + late);
    if (before !== '') await once(socket, 'data');
    const response = await begun.promise;
    await openMany(3 * MOST, USUAL);
    const received = once(socket.setEncoding('latin1'), 'data');
    answer(response);
    expect((await received)[0]).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  },
);
