/**
 * Timeouts of requests. A client that sends nothing or only half a head gets 408; a kept connection
 * without a request ends without a response. The times are the same on the fast path, which reads usual
 * GETs, and through Node's parser. The short form runs the server with shorter times, the full form the
 * real proxy with the real ones.
 */
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SiteHandler } from '../../../../proxy/http/dispatch.ts';
import type { ApiHandler } from '../../../../proxy/http/message/responder.ts';
import { type ClientTimes, makeServer } from '../../../../proxy/http/server.ts';
import { makeSampleSnapshots } from '../../../catalogue/snapshots.ts';
import { startProxy, testKey } from '../../../support/product.ts';
import { openSocket, readToEnd } from '../../../support/servers/sockets.ts';
import { IS_FULL } from '../../rounds.ts';

const TIMES: ClientTimes = IS_FULL
  ? { head: 10_000, request: 15_000, check: 2_000, keepAlive: 65_000 }
  : { head: 500, request: 2_000, check: 100, keepAlive: 2_500 };
/** Allows for a busy machine. Node itself keeps a connection a second longer than announced. */
const SLACK = 900;
/** The server's clock starts before the client has read the response. */
const EARLY = 200;
/** Longer than all of these times. */
const LATE_ANSWER = TIMES.keepAlive + 300;

const key = testKey(1);
const fields = `Host: x\r\nX-Api-Key: ${key.key}\r\n\r\n`;
const USUAL = `GET /api/v1/stats HTTP/1.1\r\n${fields}`;
const TO_NODE = `HEAD /api/v1/stats HTTP/1.1\r\n${fields}`;
const halfOf = (request: string) => request.slice(0, -8);

/** The exact response after a timeout: no fields of the API, and the connection closes. */
const TIMED_OUT = [
  'HTTP/1.1 408 Request Timeout',
  'Content-Type: application/json; charset=utf-8',
  'Content-Length: 27',
  'Cache-Control: no-store',
  'Connection: close',
  '',
  '{"error":"Request timeout"}',
].join('\r\n');

const log = pino({ level: 'silent' });
const OK = {
  head: { status: 200, headers: ['Content-Length', '2'] },
  headers: [],
  body: Buffer.from('{}'),
};
const answerAll: ApiHandler = ({ target }, response) => {
  const answer = () => response.send(OK);
  if (target.startsWith('/late')) setTimeout(answer, LATE_ANSWER);
  else answer();
};
const answerSite: SiteHandler = (_, response) => response.end();

let port: number;
let stop: () => Promise<unknown>;

beforeAll(async () => {
  if (IS_FULL) {
    const snapshotsDir = await makeSampleSnapshots([key]);
    const proxy = await startProxy(snapshotsDir);
    port = proxy.port;
    stop = proxy.stop;
    return;
  }
  const { server, closeAllConnections } = makeServer(answerAll, answerSite, log, { times: TIMES });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as { port: number });
  stop = async () => {
    closeAllConnections();
    server.close();
  };
});

afterAll(async () => {
  await stop?.();
});

interface Ended {
  /** All bytes from the server. */
  readonly received: string;
  /** The time from the client's last action to the end. */
  readonly milliseconds: number;
}

/** Opens a connection, performs an action on it, and reads until the server closes. */
async function untilEnd(act: (socket: Socket) => Promise<unknown>): Promise<Ended> {
  const socket = (await openSocket(port)).setNoDelay(true);
  const ended = readToEnd(socket);
  await act(socket);
  const start = performance.now();
  const received = await ended;
  return { received, milliseconds: performance.now() - start };
}

/** Sends requests and waits for the response to each. */
async function sendRequests(socket: Socket, ...requests: string[]): Promise<void> {
  for (const request of requests) {
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write(request);
    await answered;
  }
}

function expectEnd({ milliseconds }: Ended, after: number, slack = SLACK): void {
  expect(milliseconds).toBeGreaterThan(after - EARLY);
  expect(milliseconds).toBeLessThan(after + slack);
}

const statuses = ({ received }: Ended) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

describe.concurrent('a client', () => {
  test.each<[string, (socket: Socket) => Promise<unknown>, number[]]>([
    ['nothing', async () => {}, []],
    ['half of a usual head', async (socket) => socket.write(halfOf(USUAL)), []],
    ['half of a head for Node’s parser', async (socket) => socket.write(halfOf(TO_NODE)), []],
    ['one byte', async (socket) => socket.write('G'), []],
    [
      'half of a head after a usual request',
      async (socket) => {
        await sendRequests(socket, USUAL);
        socket.write(halfOf(USUAL));
      },
      [200],
    ],
    [
      'half of a head after a request for Node’s parser',
      async (socket) => {
        await sendRequests(socket, TO_NODE, USUAL);
        socket.write(halfOf(USUAL));
      },
      [200, 200],
    ],
    [
      'half of a head together with a usual request',
      (socket) => sendRequests(socket, USUAL + halfOf(USUAL)),
      [200],
    ],
  ])('that sends %s gets 408 after the time for a head', async (_, act, before) => {
    const end = await untilEnd(act);
    expect(statuses(end)).toEqual([...before, 408]);
    expect(end.received.slice(end.received.indexOf('HTTP/1.1 408'))).toBe(TIMED_OUT);
    expectEnd(end, TIMES.head, TIMES.check + SLACK);
  });

  test.each([
    ['a usual head', USUAL],
    ['a head for Node’s parser', TO_NODE],
  ])('that sends %s byte by byte gets 408 after the same time', async (_, request) => {
    const dripped = async (socket: Socket) => {
      const drip = setInterval(() => socket.write('a'), TIMES.head / 20);
      socket.once('close', () => clearInterval(drip));
      socket.write(halfOf(request));
    };
    const end = await untilEnd(dripped);
    expect(statuses(end)).toEqual([408]);
    expectEnd(end, TIMES.head, TIMES.check + SLACK);
  });

  test.each<[string, (socket: Socket) => Promise<unknown>, number]>([
    ['a usual request', (socket) => sendRequests(socket, USUAL), 1],
    ['a request for Node’s parser', (socket) => sendRequests(socket, TO_NODE), 1],
    ['one of each', (socket) => sendRequests(socket, USUAL, TO_NODE), 2],
    ['one of each, in the other order', (socket) => sendRequests(socket, TO_NODE, USUAL), 2],
    [
      'a late usual request',
      async (socket) => {
        await pause(TIMES.head * 0.6);
        await sendRequests(socket, USUAL);
      },
      1,
    ],
    [
      'a usual request and, after a pause, another',
      async (socket) => {
        await sendRequests(socket, USUAL);
        await pause(TIMES.keepAlive * 0.6);
        await sendRequests(socket, USUAL);
      },
      2,
    ],
    [
      'a request for Node’s parser and, after a pause, another',
      async (socket) => {
        await sendRequests(socket, TO_NODE);
        await pause(TIMES.keepAlive * 0.6);
        await sendRequests(socket, TO_NODE);
      },
      2,
    ],
  ])('that is idle after %s keeps its connection for the announced time', async (_, act, count) => {
    const end = await untilEnd(act);
    expect(statuses(end)).toEqual(Array.from({ length: count }, () => 200));
    const announced = `\r\nKeep-Alive: timeout=${Math.floor(TIMES.keepAlive / 1000)}\r\n`;
    expect(end.received.split(announced)).toHaveLength(count + 1);
    expectEnd(end, TIMES.keepAlive);
  });

  // No request to the real proxy takes that long.
  if (!IS_FULL) {
    test.each([
      ['a usual request', USUAL],
      ['a request for Node’s parser', TO_NODE],
    ])('gets a late response to %s', async (_, request) => {
      const late = request.replace('stats', 'late');
      const end = await untilEnd((socket) => sendRequests(socket, late));
      expect(statuses(end)).toEqual([200]);
      expectEnd(end, TIMES.keepAlive);
    });
  }
});
