/**
 * Many clients of the API behind nginx that keep their connections and ask without a pause. Each
 * response is compared with the body that the API gave before, so a lost, cut or mixed up one is
 * found; what went wrong is gathered and thrown only when the clients are stopped.
 */
import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { hashBytes, hexOf } from '../../../format/content-hash.ts';
import { askHttp2, openHttp2, type RunningNginx, SERVER_NAME } from './nginx.ts';

/** A request of the clients: all of them can be repeated without harm. */
export interface Asked {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface FrontClients {
  /** Responses so far that were right. */
  count(): number;
  /** What went wrong so far, in words, each with the request. */
  faults(): readonly string[];
  /** Ends all clients once their last responses are there. */
  stop(): Promise<void>;
}

/** nginx ends an HTTP/2 connection after 1,000 requests; clients open the next one before that. */
const MOST_STREAMS = 800;

interface Taken {
  readonly status: number;
  readonly bytes: Buffer;
}

/**
 * Starts the clients. The first response to each request is what the later ones are compared with.
 * @param connections of HTTP/1.1, with one request at a time; and streams, on one connection of HTTP/2
 */
export async function startFrontClients(
  nginx: RunningNginx,
  requests: readonly Asked[],
  { connections, streams }: { connections: number; streams: number },
): Promise<FrontClients> {
  const pool = new Pool(`https://127.0.0.1:${nginx.httpsPort}`, {
    connections,
    connect: { ca: nginx.ca, servername: SERVER_NAME },
  });
  const http2 = makeHttp2(nginx);
  const expected = await Promise.all(requests.map(async (one) => resultOf(await ask1(pool, one))));
  const faults: string[] = [];
  let count = 0;
  let isOver = false;

  async function run(first: number, ask: (one: Asked) => Promise<Taken>): Promise<void> {
    for (let i = first; !isOver; i++) {
      const which = i % requests.length;
      const one = requests[which];
      const got = await ask(one).then(resultOf, (error) => `${error.code} ${error.message}`);
      if (got === expected[which]) count++;
      else {
        faults.push(`${one.method} ${one.path}: ${got} instead of ${expected[which]}`);
        // So that a fault that stays does not fill the memory.
        await pause(100);
      }
    }
  }

  const clients = [
    ...Array.from({ length: connections }, (_, i) => run(i, (one) => ask1(pool, one))),
    ...Array.from({ length: streams }, (_, i) => run(i, http2.ask)),
  ];
  return {
    count: () => count,
    faults: () => faults,
    async stop() {
      if (isOver) return;
      isOver = true;
      await Promise.all(clients);
      await pool.close();
      http2.close();
    },
  };
}

function resultOf({ status, bytes }: Taken): string {
  return `${status} with ${bytes.length} bytes (${hexOf(hashBytes(bytes)).slice(0, 12)})`;
}

async function ask1(pool: Pool, { method, path, headers }: Asked): Promise<Taken> {
  const reply = await pool.request({ method, path, headers: { host: SERVER_NAME, ...headers } });
  return { status: reply.statusCode, bytes: Buffer.from(await reply.body.arrayBuffer()) };
}

/** Asks over HTTP/2, on one connection after the other. */
function makeHttp2(nginx: RunningNginx) {
  const sessions: ClientHttp2Session[] = [];
  let current: Promise<ClientHttp2Session> | undefined;
  let streams = 0;
  async function open(): Promise<ClientHttp2Session> {
    const session = await openHttp2(nginx);
    // The requests on it get the error too.
    session.on('error', () => {});
    sessions.push(session);
    return session;
  }
  return {
    async ask(one: Asked): Promise<Taken> {
      if (streams++ % MOST_STREAMS === 0) current = open();
      return ask2(await (current as Promise<ClientHttp2Session>), one);
    },
    close() {
      for (const session of sessions) session.destroy();
    },
  };
}

async function ask2(session: ClientHttp2Session, { path, ...options }: Asked): Promise<Taken> {
  const reply = await askHttp2(session, path, options);
  const length = reply.headers['content-length'];
  // A stream that is reset may look like one that ended.
  if (options.method === 'GET' && length !== undefined && Number(length) !== reply.bytes.length) {
    throw new Error(`${reply.bytes.length} bytes of ${length}`);
  }
  return reply;
}
