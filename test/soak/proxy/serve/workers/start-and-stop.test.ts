/** Starts and ends of the proxy under load. */
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import {
  generate,
  makeFolder,
  type ProxyProgram,
  startProxyProgram,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { openSocket, readToEnd } from '#test/support/servers/sockets.ts';

const PROMISE = 'Stopping';
const STOPS = rounds(1, 20);
const CLIENTS = 12;
/** After this time, requests under way are cut. */
const DEADLINE_MS = 10_000;
const key = testKey(1);
const headers = { 'x-api-key': key.key };

const dir = path.join(makeFolder(), 'snapshots');
await generate(await makeSqlite(seededCatalogue({ games: 2_100, seed: 4, platforms: 6 })), dir);
writeKeys(dir, [key]);

const isReady = async (proxy: ProxyProgram) => (await proxy.readyz()).status === 200;

describe.each([1, 3])('SIGTERM with %i serving threads', (threads) => {
  test('under load first reports not ready, answers every request, and exits with 0', async () => {
    let requests = 0;
    let longest = 0;
    for (let stop = 0; stop < STOPS; stop++) {
      const random = makeRandom(stop + threads * 1000);
      const proxy = await startProxyProgram(dir, { PROXY_THREADS: String(threads) });
      const pool = new Pool(proxy.url, { connections: CLIENTS });
      let isDrained = false;
      const client = async (number: number) => {
        for (let i = number; !isDrained; i++, requests++) {
          const reply = await pool.request({
            method: 'GET',
            path: `/api/v1/search?per_page=${1 + (i % 100)}&page=${1 + (i % 20)}`,
            headers: { ...headers, 'accept-encoding': i % 3 ? 'br' : 'identity' },
          });
          await reply.body.dump();
          expect(reply.statusCode).toBe(200);
        }
      };
      const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
      // Like a load balancer, stops the clients as soon as the proxy is not ready.
      const balancer = (async () => {
        while (await isReady(proxy)) await pause(20);
        isDrained = true;
        const { json } = await proxy.readyz();
        expect([json.ready, json.stopping]).toEqual([false, true]);
      })();
      await pause(200 + random.below(400));
      // A request under way, with half a head.
      const slow = await openSocket(proxy.port);
      const answer = readToEnd(slow);
      slow.write(`GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n`);
      await pause(20);
      const started = performance.now();
      const ended = proxy.stop();
      await balancer;
      await clients;
      await pause(random.below(1_500));
      slow.write('\r\n');
      expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n[\s\S]*\}$/i);
      await pool.close();
      expect(await ended).toBe(0);
      longest = Math.max(longest, performance.now() - started);
      expect(longest).toBeLessThan(DEADLINE_MS);
    }
    expect(requests).toBeGreaterThan(STOPS * CLIENTS);
    printFigure(
      PROMISE,
      `${STOPS} times SIGTERM, ${threads} threads, ${requests} requests: 0 failed, exit 0 after at most ${(longest / 1000).toFixed(1)} s`,
    );
  });
});
