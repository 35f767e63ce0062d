/**
 * Slow clients: thousands send a request head byte by byte, hundreds never read the responses. Both
 * kinds are disconnected in time, and a normal client is served as fast as by a proxy without them.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { type ProxyProgram, startProxyProgram, testKey } from '../../support/product.ts';
import { IS_FULL, printFigure } from '../rounds.ts';
import { until } from '../support/until.ts';
import type { Attack, Opened } from './slow-attackers.ts';

const PROMISE = 'Slow clients';
const SENDERS = IS_FULL ? 2_000 : 400;
const READERS = IS_FULL ? 500 : 100;
/** The normal client's requests per second to each proxy, and how long they are measured. */
const RATE = 400;
const TIMED_MS = IS_FULL ? 8_000 : 3_000;
/** For how long a client may take nothing of its response. */
const DRAIN_MS = 30_000;
/** A head may take 10 s and is checked every 2 s. The rest allows for other work on the machine. */
const SENDERS_GONE_MS = 20_000;
/** Node waits once more if the client had taken something since the response was written. */
const READERS_GONE_MS = 2 * DRAIN_MS + 20_000;
const LONGEST_MS = 120_000;

const key = testKey(1);
const keyed = { 'x-api-key': key.key };
const LARGE = '/api/v1/search?per_page=100';
let proxy: ProxyProgram;
let control: ProxyProgram;
/** Connections of a normal client: to the proxy that is attacked, and to another one. */
let pools: readonly [Pool, Pool];

beforeAll(async () => {
  const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 3_000, seed: 5 }), [key]);
  proxy = await startProxyProgram(snapshotsDir);
  control = await startProxyProgram(snapshotsDir);
  pools = [new Pool(proxy.url, { connections: 4 }), new Pool(control.url, { connections: 4 })];
});

afterAll(() => Promise.all(pools.map((pool) => pool.close())));

/**
 * A normal client sends requests to both proxies alternately, at a constant rate. Other work on the machine
 * affects both equally.
 * @returns for each, the 99th percentile of the durations in milliseconds
 */
async function timeNormalClient(): Promise<[number, number]> {
  const pending: Promise<number>[][] = [[], []];
  const request = async (pool: Pool) => {
    const started = performance.now();
    const path = '/api/v1/platforms';
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers: keyed });
    await body.dump();
    expect(statusCode).toBe(200);
    return performance.now() - started;
  };
  const start = performance.now();
  for (let i = 0; i < (TIMED_MS / 500) * RATE; i++) {
    const wait = start + (i * 500) / RATE - performance.now();
    if (wait > 0) await pause(wait);
    pending[i % 2].push(request(pools[i % 2]));
  }
  const [attacked, other] = await Promise.all(pending.map((times) => Promise.all(times)));
  return [p99(attacked), p99(other)];
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)];
}

/** The remote ports of the proxy's open connections, according to the kernel. */
function heldPorts(): Set<number> {
  const ESTABLISHED = '01';
  const own = `:${proxy.port.toString(16).toUpperCase().padStart(4, '0')}`;
  const held = new Set<number>();
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1)) {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    if (!local.endsWith(own) || state !== ESTABLISHED) continue;
    held.add(Number.parseInt(remote.slice(remote.indexOf(':') + 1), 16));
  }
  return held;
}

/** Waits until none of the ports is held. @returns the milliseconds since `started` */
async function waitUntilDropped(ports: readonly number[], started: number): Promise<number> {
  for (;;) {
    const held = heldPorts();
    const elapsed = performance.now() - started;
    if (!ports.some((port) => held.has(port))) return elapsed;
    if (elapsed > LONGEST_MS) throw new Error(`Still held after ${Math.round(elapsed)} ms.`);
    await pause(500);
  }
}

test(`${SENDERS} slow senders and ${READERS} slow readers do not slow down a normal client and are disconnected`, async () => {
  // Warms up client and proxies.
  await timeNormalClient();
  const workerData: Attack = {
    port: proxy.port,
    senders: SENDERS,
    readers: READERS,
    requests: line('GET', LARGE).repeat(150),
  };
  const started = performance.now();
  const worker = new Worker(new URL('./slow-attackers.ts', import.meta.url), { workerData });
  const opened = await new Promise<Opened>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  const openedAt = performance.now() - started;
  const held = heldPorts();
  const areHeld = (ports: readonly number[]) => ports.filter((port) => held.has(port)).length;
  expect(areHeld(opened.readers)).toBe(READERS);
  // On a busy machine the first senders may time out before the last ones connect.
  expect(areHeld(opened.senders)).toBeGreaterThan(SENDERS * 0.9);
  // First the proxy sends as much as the kernel buffers for the readers, which takes a moment.
  await pause(1_000);
  const [attacked, other] = await timeNormalClient();
  const sendersGone = await waitUntilDropped(opened.senders, started);
  const readersGone = await waitUntilDropped(opened.readers, started);
  await worker.terminate();
  const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(0);
  printFigure(
    PROMISE,
    `${SENDERS} senders gone after ${seconds(sendersGone)} s, ${READERS} readers after ${seconds(readersGone)} s; p99 of a normal client ${attacked.toFixed(1)} ms during the attack, ${other.toFixed(1)} ms at a proxy without slow clients`,
  );
  expect(sendersGone - openedAt).toBeLessThan(SENDERS_GONE_MS);
  expect(readersGone - openedAt).toBeLessThan(READERS_GONE_MS);
  // The quick form measures too little for it.
  if (IS_FULL) expect(attacked / other).toBeLessThan(2);
});

function line(method: string, target: string, fields = ''): string {
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n${fields}\r\n`;
}

/** Bytes for one connection on loopback. The kernel's buffers grow while the client reads. */
const MORE_THAN_THE_KERNEL_BUFFERS = { atFirst: 12_000_000, later: 60_000_000 };

describe('a client that stops reading is disconnected', () => {
  const many = (
    request: string,
    answerBytes: number,
    bytes = MORE_THAN_THE_KERNEL_BUFFERS.atFirst,
  ) => request.repeat(bytes / answerBytes);

  // A concurrent test needs its own `expect`, or vitest does not count its assertions.
  test.concurrent.for<[string, number, () => string]>([
    ['during the first responses', 0, () => many(line('GET', LARGE), 50_000)],
    [
      'after it has read some responses',
      3_000_000,
      () => many(line('GET', LARGE), 50_000, MORE_THAN_THE_KERNEL_BUFFERS.later),
    ],
    ['if the responses are 304', 0, () => many(line('GET', LARGE, 'If-None-Match: *\r\n'), 500)],
    ['if it sends preflights, which need no key', 0, () => many(line('OPTIONS', LARGE), 500)],
    ['if the responses are errors', 0, () => many(line('GET', '/api/v1/nothing'), 500)],
  ])('%s', async ([, toRead, bytes], { expect }) => {
    const socket = connect(proxy.port, '127.0.0.1').on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    let received = 0;
    socket.on('data', (part) => {
      received += part.length;
      if (received >= toRead) socket.pause();
    });
    if (toRead === 0) socket.pause();
    const started = performance.now();
    socket.write(bytes());
    await until(() => received >= toRead);
    await pause(1_000);
    expect(heldPorts()).toContain(socket.localPort);
    const gone = await waitUntilDropped([socket.localPort ?? 0], started);
    expect(gone).toBeLessThan(READERS_GONE_MS);
    socket.destroy();
  });

  test.concurrent('if it has also sent half a request head', async ({ expect }) => {
    // It is unknown how many responses the kernel buffers. One of these counts just exceeds it.
    const counts = Array.from({ length: 110 }, (_, i) => 40 + i);
    const ports: number[] = [];
    const sockets = [];
    for (const count of counts) {
      const socket = connect(proxy.port, '127.0.0.1')
        .on('error', () => {})
        .pause();
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(`${line('GET', LARGE).repeat(count)}GET /docs HTTP/1.1\r\nX-`);
      ports.push(socket.localPort ?? 0);
      sockets.push(socket);
    }
    const gone = await waitUntilDropped(ports, performance.now());
    expect(gone).toBeLessThan(READERS_GONE_MS + SENDERS_GONE_MS);
    for (const socket of sockets) socket.destroy();
  });
});
