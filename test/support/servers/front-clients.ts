/**
 * Many clients of the API behind nginx that keep their connections and send requests without pauses.
 * Each response is compared with the first response to the same request, so a lost, truncated or
 * mixed-up one is found.
 */
import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { expect } from 'vitest';
import { hashBytes, hexOf } from '#lib/format/content-hash.ts';
import { openHttp2, type RunningNginx, SERVER_NAME, sendHttp2 } from './nginx.ts';

/** A request of the clients, which can safely be repeated. */
export interface FrontClientRequest {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** nginx ends an HTTP/2 connection after 1,000 requests, so clients open the next one before that. */
const MOST_STREAMS = 800;
/** How long the clients send requests before the work and after it. */
const AROUND_MS = 300;

interface Received {
  readonly status: number;
  readonly bytes: Buffer;
}

/**
 * Does some work while clients send requests. Fails if one of them is answered differently.
 * @param options numbers of HTTP/1.1 connections, with one request at a time, and of concurrent
 * streams on one HTTP/2 connection
 * @returns the number of responses
 */
export async function underLoad(
  nginx: RunningNginx,
  requests: readonly FrontClientRequest[],
  { connections, streams }: { connections: number; streams: number },
  work: () => Promise<unknown>,
): Promise<number> {
  const pool = new Pool(`https://127.0.0.1:${nginx.httpsPort}`, {
    connections,
    connect: { ca: nginx.ca, servername: SERVER_NAME },
  });
  const http2 = makeHttp2(nginx);
  const expected = await Promise.all(
    requests.map(async (one) => resultOf(await sendOnPool(pool, one))),
  );
  const faults: string[] = [];
  let count = 0;
  let isOver = false;

  async function run(
    first: number,
    sendOne: (one: FrontClientRequest) => Promise<Received>,
  ): Promise<void> {
    for (let i = first; !isOver; i++) {
      const which = i % requests.length;
      const one = requests[which];
      const got = await sendOne(one).then(resultOf, (error) => `${error.code} ${error.message}`);
      if (got === expected[which]) count++;
      else {
        faults.push(`${one.method} ${one.path}: ${got} instead of ${expected[which]}`);
        // Slows down, so that a permanent fault does not fill the memory.
        await pause(100);
      }
    }
  }

  const clients = [
    ...Array.from({ length: connections }, (_, i) => run(i, (one) => sendOnPool(pool, one))),
    ...Array.from({ length: streams }, (_, i) => run(i, http2.send)),
  ];
  await pause(AROUND_MS);
  await work();
  await pause(AROUND_MS);
  isOver = true;
  await Promise.all(clients);
  await pool.close();
  http2.close();
  // A few are enough for a report.
  expect(faults.slice(0, 20)).toEqual([]);
  return count;
}

function resultOf({ status, bytes }: Received): string {
  return `${status} with ${bytes.length} bytes (${hexOf(hashBytes(bytes)).slice(0, 12)})`;
}

async function sendOnPool(
  pool: Pool,
  { method, path, headers }: FrontClientRequest,
): Promise<Received> {
  const reply = await pool.request({ method, path, headers: { host: SERVER_NAME, ...headers } });
  return { status: reply.statusCode, bytes: Buffer.from(await reply.body.arrayBuffer()) };
}

/** Sends requests over HTTP/2, on one connection after the other. */
function makeHttp2(nginx: RunningNginx) {
  const sessions: ClientHttp2Session[] = [];
  let current: Promise<ClientHttp2Session> | undefined;
  let streams = 0;
  async function open(): Promise<ClientHttp2Session> {
    const session = await openHttp2(nginx);
    // The requests on the session also get the error.
    session.on('error', () => {});
    sessions.push(session);
    return session;
  }
  return {
    async send(one: FrontClientRequest): Promise<Received> {
      if (streams++ % MOST_STREAMS === 0) current = open();
      return sendOnSession(await (current as Promise<ClientHttp2Session>), one);
    },
    close() {
      for (const session of sessions) session.destroy();
    },
  };
}

async function sendOnSession(
  session: ClientHttp2Session,
  { path, ...options }: FrontClientRequest,
): Promise<Received> {
  const reply = await sendHttp2(session, path, options);
  const length = reply.headers['content-length'];
  // A reset stream may look like one that ended.
  if (options.method === 'GET' && length !== undefined && Number(length) !== reply.bytes.length) {
    throw new Error(`${reply.bytes.length} bytes of ${length}`);
  }
  return reply;
}
