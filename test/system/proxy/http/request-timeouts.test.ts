/**
 * Timeouts of requests. A client that sends nothing or only half a head gets 408; a kept connection
 * without a request ends without a response. The same happens on the fast path, which reads usual GETs, and
 * through Node's parser. Each server here has one time that passes and others that never do, so what ends
 * a connection shows which time it was.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { describe, test } from 'vitest';
import { CLIENT_LIMITS } from '#lib/program/connections.ts';
import type { ApiHandler, Responder } from '#proxy/http/response.ts';
import { HttpServer } from '#proxy/http/server.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { listenOn, openSocket, readToEnd, statusesIn } from '#test/support/servers/sockets.ts';

const NEVER = 1e8;
const SHORT = 100;
/** A client of this process sends the next request long before. */
const LONGER = 3_000;

const fields = 'Host: x\r\n\r\n';
const USUAL = `GET /api/v1/stats HTTP/1.1\r\n${fields}`;
const TO_NODE = `HEAD /api/v1/stats HTTP/1.1\r\n${fields}`;
const halfOf = (request: string) => request.slice(0, -8);

/** The exact response after a timeout: no fields of the API, and the connection closes. */
const TIMED_OUT = [
  ...['HTTP/1.1 408 Request Timeout', 'Content-Type: application/json; charset=utf-8'],
  ...['Content-Length: 27', 'Cache-Control: no-store', 'Connection: close', ''],
  '{"error":"Request timeout"}',
].join('\r\n');

const answer = (response: Responder) =>
  response.send({ status: 200, headers: 'Content-Length: 2\r\n', body: Buffer.from('{}') });
const answerAll: ApiHandler = (_, response) => answer(response);

/** Starts a server. @returns a function that opens connections to it */
async function serve(
  limits: Partial<typeof CLIENT_LIMITS> | undefined,
  api = answerAll,
): Promise<() => Promise<Socket>> {
  const never = { headersTimeout: NEVER, requestTimeout: NEVER, keepAliveTimeout: NEVER };
  const all = { ...CLIENT_LIMITS, ...never, connectionsCheckingInterval: 20, ...limits };
  const options = limits === undefined ? {} : { limits: all };
  const http = new HttpServer(
    api,
    (_, response) => response.end(),
    pino({ level: 'silent' }),
    options,
  );
  const port = await listenOn(http.server);
  atEndOfFile(() => http.closeAllConnections());
  return async () => (await openSocket(port)).setNoDelay(true);
}

type Act = (socket: Socket) => unknown;

/** Opens a connection, performs an action on it, and reads until the server closes. */
async function untilEnd(open: () => Promise<Socket>, act: Act): Promise<string> {
  const socket = await open();
  const ended = readToEnd(socket);
  await act(socket);
  return ended;
}

/** Sends requests and waits for the response to each. */
async function sendRequests(socket: Socket, ...requests: string[]): Promise<void> {
  for (const request of requests) {
    const answered = once(socket, 'data');
    socket.write(request);
    await answered;
  }
}

describe.concurrent('a client', () => {
  test.for<[name: string, act: Act, before: number[], head: number]>([
    ['nothing', () => {}, [], SHORT],
    ['half of a usual head', (socket) => socket.write(halfOf(USUAL)), [], SHORT],
    ['half of a head for Node’s parser', (socket) => socket.write(halfOf(TO_NODE)), [], SHORT],
    ['one byte', (socket) => socket.write('G'), [], SHORT],
    [
      'one byte after another',
      (socket) => {
        socket.write(halfOf(USUAL));
        const drip = setInterval(() => socket.write('a'), SHORT / 20);
        socket.once('close', () => clearInterval(drip));
      },
      [],
      SHORT,
    ],
    [
      'half of a head after a usual request',
      async (socket) => {
        await sendRequests(socket, USUAL);
        socket.write(halfOf(USUAL));
      },
      [200],
      LONGER,
    ],
    [
      'half of a head after a request for Node’s parser',
      async (socket) => {
        await sendRequests(socket, TO_NODE, USUAL);
        socket.write(halfOf(USUAL));
      },
      [200, 200],
      LONGER,
    ],
    [
      'half of a head together with a usual request',
      (socket) => sendRequests(socket, USUAL + halfOf(USUAL)),
      [200],
      LONGER,
    ],
  ])(
    'that sends %s gets 408 after the time for a head',
    async ([, act, before, head], { expect }) => {
      const received = await untilEnd(await serve({ headersTimeout: head }), act);
      expect(statusesIn(received)).toEqual([...before, 408]);
      const [last] = received.match(/HTTP\/1\.1 408.*/s) ?? [];
      expect(last?.replace(/^Date: .+\r\n/m, '')).toBe(TIMED_OUT);
    },
  );

  test.for<[name: string, requests: string[]]>([
    ['a usual request', [USUAL]],
    ['a request for Node’s parser', [TO_NODE]],
    ['one of each', [USUAL, TO_NODE]],
    ['one of each, in the other order', [TO_NODE, USUAL]],
  ])(
    'that is idle after %s keeps its connection for the time between requests',
    async ([, requests], { expect }) => {
      const keepAlive = requests.length > 1 ? LONGER : SHORT;
      const open = await serve({ keepAliveTimeout: keepAlive });
      const received = await untilEnd(open, (socket) => sendRequests(socket, ...requests));
      expect(statusesIn(received)).toEqual(requests.map(() => 200));
    },
  );

  test('is told to keep its connection for at most 65 s', async ({ expect }) => {
    const socket = await (await serve(undefined))();
    let received = '';
    socket.setEncoding('latin1').on('data', (text) => {
      received += text;
    });
    await sendRequests(socket, USUAL, TO_NODE);
    socket.destroy();
    expect(received.split('\r\nKeep-Alive: timeout=65\r\n')).toHaveLength(3);
  });

  test.for([
    ['a usual request', USUAL],
    ['a request for Node’s parser', TO_NODE],
  ] as const)(
    'gets a response to %s that is later than all times',
    async ([, request], { expect }) => {
      const begun = Promise.withResolvers<Responder>();
      const api: ApiHandler = (_, response) => begun.resolve(response);
      const open = await serve({ headersTimeout: LONGER, keepAliveTimeout: SHORT }, api);
      const socket = await open();
      const ended = readToEnd(socket);
      socket.write(request);
      const response = await begun.promise;
      // The times of this connection have begun later.
      await untilEnd(open, () => {});
      answer(response);
      expect(statusesIn(await ended)).toEqual([200]);
    },
  );
});
