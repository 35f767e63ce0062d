/**
 * Many clients of the API behind nginx that keep their connections and send requests without pauses.
 * Each response is compared with the first response to the same request, so a lost, truncated or
 * mixed-up one is found.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { expect } from 'vitest';
import { hashBytes, hexOf } from '#lib/format/content-hash.ts';
import { type RunningNginx, SERVER_NAME } from './nginx.ts';

/** A request of the clients, which can safely be repeated. */
export interface FrontClientRequest {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** How long the clients send requests before the work and after it. */
const AROUND_MS = 300;

interface Received {
  readonly status: number;
  readonly bytes: Buffer;
}

/**
 * Does some work while clients send requests. Fails if one of them is answered differently.
 * @param connections of HTTP/1.1, with one request at a time on each
 * @returns the number of responses
 */
export async function underLoad(
  nginx: RunningNginx,
  requests: readonly FrontClientRequest[],
  connections: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const pool = new Pool(`https://127.0.0.1:${nginx.httpsPort}`, {
    connections,
    connect: { ca: nginx.ca, servername: SERVER_NAME },
  });
  const expected = await Promise.all(
    requests.map(async (one) => resultOf(await sendOnPool(pool, one))),
  );
  const faults: string[] = [];
  let count = 0;
  let isOver = false;

  async function run(first: number): Promise<void> {
    for (let i = first; !isOver; i++) {
      const which = i % requests.length;
      const one = requests[which];
      const sent = sendOnPool(pool, one);
      const got = await sent.then(resultOf, (error) => `${error.code} ${error.message}`);
      if (got === expected[which]) count++;
      else {
        faults.push(`${one.method} ${one.path}: ${got} instead of ${expected[which]}`);
        // Slows down, so that a permanent fault does not fill the memory.
        await pause(100);
      }
    }
  }

  const clients = Array.from({ length: connections }, (_, i) => run(i));
  await pause(AROUND_MS);
  await work();
  await pause(AROUND_MS);
  isOver = true;
  await Promise.all(clients);
  await pool.close();
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
