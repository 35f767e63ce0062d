/**
 * The start and the end of the proxy. It answers 503 before the first generation. When it stops, it
 * first reports that it is not ready, then finishes requests under way, and does not wait forever.
 */
import { readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { CURRENT, GENERATIONS } from '../../../format/layout.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import { printFigure, rounds } from '../../soak/rounds.ts';
import { changeTimers } from '../../support/processes.ts';
import {
  generate,
  makeFolder,
  type ProxyProgram,
  send,
  startProxyProgram,
  testKey,
  until,
  writeKeys,
} from '../../support/product.ts';
import { openSocket, readToEnd } from '../../support/servers/sockets.ts';

const PROMISE = 'Stopping';
const STOPS = rounds(1, 40);
const CLIENTS = 12;
/** After this time, requests under way are cut. */
const DEADLINE_MS = 10_000;
/** The short form shortens the proxy's timer for it, where a test waits for the deadline. */
const AWAITED_MS = rounds(2_000, DEADLINE_MS);
/** Allows for the steps before and after the deadline. */
const MARGIN_MS = 4_000;

const key = testKey(1);
const headers = { 'x-api-key': key.key };
let dir: string;

beforeAll(async () => {
  dir = path.join(makeFolder(), 'snapshots');
  await generate(await makeSqlite(seededCatalogue({ games: 2_100, seed: 4, platforms: 6 })), dir);
  writeKeys(dir, [key]);
});

const isReady = async (proxy: ProxyProgram) => (await proxy.readyz()).status === 200;

describe.each([1, 3])('SIGTERM with %i serving threads', (threads) => {
  test('under load first reports not ready, answers every request, and exits with 0', {
    timeout: rounds(60_000, 1_800_000),
  }, async () => {
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

test('on SIGTERM, clients that never finish are cut at the deadline, and the exit code is 0', {
  timeout: 60_000,
}, async () => {
  const proxy = await startProxyProgram(dir, changeTimers({ [DEADLINE_MS]: AWAITED_MS }));
  const answers: Promise<string>[] = [];
  const page = `GET /api/v1/search?per_page=100 HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n\r\n`;
  const sockets: Socket[] = [];
  for (let i = 0; i < 10; i++) {
    const socket = await openSocket(proxy.port);
    sockets.push(socket);
    // Half of the clients never finish their head, half never read the responses.
    if (i % 2) {
      answers.push(readToEnd(socket));
      socket.write('GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-');
    } else {
      socket.on('error', () => {}).pause();
      socket.write(page.repeat(300));
    }
  }
  // Keeps sending, so that these connections are not closed as idle.
  const dripping = setInterval(() => {
    for (const [i, socket] of sockets.entries()) if (i % 2) socket.write('a');
  }, 500);
  await pause(500);
  const started = performance.now();
  const ended = proxy.stop();
  await until(async () => !(await isReady(proxy)));
  expect(await ended).toBe(0);
  const elapsed = performance.now() - started;
  expect(elapsed).toBeGreaterThan(AWAITED_MS);
  expect(elapsed).toBeLessThan(AWAITED_MS + MARGIN_MS);
  clearInterval(dripping);
  await Promise.all(answers);
  for (const socket of sockets) socket.destroy();
});

test('a second signal has no effect', async () => {
  const proxy = await startProxyProgram(dir);
  const ended = proxy.stop();
  proxy.child.kill('SIGINT');
  proxy.child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('a proxy that starts before the first generation answers 503, and after the first 200 only 200', async () => {
  const target = path.join(makeFolder(), 'snapshots');
  const proxy = await startProxyProgram(target, { ADDRESS_RATE_LIMIT: '100000' });
  const statuses: number[] = [];
  let hasGeneration = false;
  let hasKeys = false;
  let isOver = false;
  const client = async () => {
    let lacksOnlyKeys = false;
    while (!isOver) {
      const { status, text, headers: fields } = await proxy.get('/stats', key.key);
      if (status === 503) {
        // Once only the keys are missing, the error about a missing snapshot must not come back.
        if (text === '{"error":"No API keys yet"}') lacksOnlyKeys = true;
        else expect([text, lacksOnlyKeys]).toEqual(['{"error":"No snapshot yet"}', false]);
        expect(hasGeneration || !lacksOnlyKeys).toBe(true);
        expect(fields['retry-after']).toMatch(/^[1-9]\d*$/);
      } else if (status === 200) expect(fields['x-snapshot']).toBeDefined();
      // Until the test writes its key, the key is unknown.
      else expect([status, hasKeys]).toEqual([401, false]);
      statuses.push(status);
      await pause(10);
    }
  };
  const clients = Promise.all([client(), client(), client()]);
  await until(() => statuses.length > 10);
  expect(new Set(statuses)).toEqual(new Set([503]));
  const early = await proxy.readyz();
  expect([early.status, early.json.ready, early.json.snapshot]).toEqual([503, false, null]);
  expect((await send(`${proxy.adminUrl}/healthz`)).status).toBe(200);

  const url = await makeSqlite(seededCatalogue({ games: 100, seed: 1 }));
  hasGeneration = true;
  await generate(url, target);
  // The generator writes a keys file without this key, so 401 may come first.
  await until(() => statuses.at(-1) === 401);
  await until(() => isReady(proxy));
  writeKeys(target, [key]);
  await until(() => statuses.at(-1) === 200);
  hasKeys = true;
  const first = statuses.indexOf(200);
  const more = statuses.length + 50;
  await until(() => statuses.length > more);
  isOver = true;
  await clients;
  expect(new Set(statuses.slice(first + 3))).toEqual(new Set([200]));
  expect(await isReady(proxy)).toBe(true);
  expect(await proxy.stop()).toBe(0);
});

test('a proxy waits while current is dangling or missing, and serves once it points to a generation', async () => {
  const target = path.join(makeFolder(), 'snapshots');
  await generate(await makeSqlite(seededCatalogue({ games: 100, seed: 1 })), target);
  writeKeys(target, [key]);
  const [id] = readdirSync(path.join(target, GENERATIONS)) as [string];
  const [from, to] = [path.join(target, GENERATIONS, id), path.join(target, 'elsewhere')];
  renameSync(from, to);
  const proxy = await startProxyProgram(target);
  expect((await proxy.get('/stats', key.key)).status).toBe(503);
  const { json } = await proxy.readyz();
  expect([json.ready, json.refused.id]).toEqual([false, id]);
  await proxy.stop();

  renameSync(to, from);
  rmSync(path.join(target, CURRENT));
  const waiting = await startProxyProgram(target);
  expect((await waiting.get('/stats', key.key)).status).toBe(503);
  symlinkSync(path.join(GENERATIONS, id), path.join(target, CURRENT));
  await until(async () => (await waiting.get('/stats', key.key)).status === 200);
  await waiting.stop();
});
