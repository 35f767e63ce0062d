/**
 * Slow clients: thousands that send a head byte by byte, hundreds that never read. A good client
 * goes on beside them as it does at a proxy without them, and both kinds are dropped in time.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { median } from '../bench/part.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { makeSnapshots } from '../catalogue/snapshots.ts';
import { type RunningProxy, startProxy, testKey, until, writeKeys } from '../support/product.ts';
import { printFigure, rounds } from '../support/rounds.ts';
import type { Attack, Opened } from './slow-attackers.ts';

const PROMISE = 'Slow clients';
const SENDERS = rounds(400, 2_000);
const READERS = rounds(100, 500);
/** Good requests a second to each proxy, and for how long they are timed. */
const RATE = 400;
const TIMED_MS = rounds(3_000, 8_000);
/** In how many stretches they are judged. */
const STRETCHES = 10;
/** How long a response may be under way: in the short form the proxy's timer of it is hurried. */
const DRAIN_MS = rounds(4_000, 30_000);
const HURRY = `const timer = globalThis.setTimeout; globalThis.setTimeout = (run, after, ...rest) => timer(run, after === 30_000 ? ${DRAIN_MS} : after, ...rest);`;
/** A head may take 10 s, looked at every 2 s. The rest is for a machine that does other things. */
const SENDERS_GONE_MS = 20_000;
/** What is unsent at one look has to be taken at the next. */
const READERS_GONE_MS = 2 * DRAIN_MS + 20_000;
const LONGEST_MS = 120_000;

/** What a good client's requests took, in milliseconds, in the order it sent them. */
interface Times {
  /** At the proxy that is attacked. */
  readonly attacked: number[];
  /** At one beside it that nobody attacks: it shows what else the machine does meanwhile. */
  readonly control: number[];
}

const key = testKey(1);
const keyed = { 'x-api-key': key.key };
const LARGE = '/api/v1/search?per_page=100';
let proxy: RunningProxy;
let control: RunningProxy;
let pools: Readonly<Record<keyof Times, Pool>>;

beforeAll(async () => {
  const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 3_000, seed: 5 }));
  writeKeys(snapshotsDir, [key]);
  const environment = {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(HURRY)}`,
  };
  proxy = await startProxy(snapshotsDir, environment);
  control = await startProxy(snapshotsDir, environment);
  pools = {
    attacked: new Pool(proxy.url, { connections: 4 }),
    control: new Pool(control.url, { connections: 4 }),
  };
});

afterAll(async () => {
  await Promise.all([pools.attacked.close(), pools.control.close()]);
  await Promise.all([proxy.stop(), control.stop()]);
});

/** A good client asks both proxies in turns, at an even rate. */
async function timeGoodClient(): Promise<Times> {
  const times: Times = { attacked: [], control: [] };
  const asked: Promise<void>[] = [];
  const ask = async (which: keyof Times, i: number) => {
    const started = performance.now();
    const { statusCode, body } = await pools[which].request({
      method: 'GET',
      path: `/api/v1/platforms?n=${i}`,
      headers: keyed,
    });
    await body.dump();
    expect(statusCode).toBe(200);
    times[which][i] = performance.now() - started;
  };
  const start = performance.now();
  for (let i = 0; i < (TIMED_MS / 1000) * RATE; i++) {
    for (const [turn, which] of (['attacked', 'control'] as const).entries()) {
      const wait = start + ((i + turn / 2) * 1000) / RATE - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      asked.push(ask(which, i));
    }
  }
  await Promise.all(asked);
  return times;
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)];
}

/**
 * How many times as long the good client's 99th percentile is at the proxy that is attacked. Each
 * stretch has its own ratio: what else the machine does in it falls on both proxies alike.
 */
function slowdown({ attacked, control }: Times): number {
  const length = attacked.length / STRETCHES;
  const of = (times: readonly number[], i: number) =>
    p99(times.slice(i * length, (i + 1) * length));
  return median(Array.from({ length: STRETCHES }, (_, i) => of(attacked, i) / of(control, i)));
}

/** The remote ports of the connections that the proxy holds open, as the kernel knows them. */
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

/** Waits until none of the ports is held. @returns after how many milliseconds since `started` */
async function waitUntilDropped(ports: readonly number[], started: number): Promise<number> {
  for (;;) {
    const held = heldPorts();
    const elapsed = performance.now() - started;
    if (!ports.some((port) => held.has(port))) return elapsed;
    if (elapsed > LONGEST_MS) throw new Error(`Still held after ${Math.round(elapsed)} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

test(`${SENDERS} slow senders and ${READERS} slow readers leave a good client be, and are dropped`, {
  timeout: 600_000,
}, async () => {
  await timeGoodClient(); // warms both sides up
  const before = await timeGoodClient();
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
  // On a busy machine the first ones' time is over before the last ones are there.
  expect(areHeld(opened.senders)).toBeGreaterThan(SENDERS * 0.9);
  // What the kernel takes for the readers is work like any other: it is over soon.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const during = await timeGoodClient();
  const sendersGone = await waitUntilDropped(opened.senders, started);
  const readersGone = await waitUntilDropped(opened.readers, started);
  await worker.terminate();
  const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(0);
  printFigure(
    PROMISE,
    `${SENDERS} senders gone after ${seconds(sendersGone)} s, ${READERS} readers after ${seconds(readersGone)} s; p99 of a good client ${p99(before.attacked).toFixed(1)} ms before, ${p99(during.attacked).toFixed(1)} ms beside them, ${p99(during.control).toFixed(1)} ms at a proxy without them (in stretches ${slowdown(during).toFixed(2)} times as long, before ${slowdown(before).toFixed(2)})`,
  );
  expect(sendersGone - openedAt).toBeLessThan(SENDERS_GONE_MS);
  expect(readersGone - openedAt).toBeLessThan(READERS_GONE_MS);
  expect(slowdown(during)).toBeLessThan(2);
});

function line(method: string, target: string, fields = ''): string {
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n${fields}\r\n`;
}

/** In bytes, for one connection on loopback; more where the client has read for a while. */
const MORE_THAN_THE_KERNEL_TAKES = { atFirst: 12_000_000, later: 60_000_000 };

describe('a client that stops to read is dropped', () => {
  const many = (request: string, answerBytes: number, bytes = MORE_THAN_THE_KERNEL_TAKES.atFirst) =>
    request.repeat(bytes / answerBytes);

  // Concurrent tests count their assertions only through an `expect` of their own.
  test.concurrent.for<[string, number, () => string]>([
    ['in the first answers', 0, () => many(line('GET', LARGE), 50_000)],
    [
      'after it took the first ones',
      3_000_000,
      () => many(line('GET', LARGE), 50_000, MORE_THAN_THE_KERNEL_TAKES.later),
    ],
    ['of 304', 0, () => many(line('GET', LARGE, 'If-None-Match: *\r\n'), 500)],
    ['of preflights, which need no key', 0, () => many(line('OPTIONS', LARGE), 500)],
    ['of refusals', 0, () => many(line('GET', '/api/v1/nothing'), 500)],
  ])('%s', { timeout: 150_000 }, async ([, toRead, bytes], { expect }) => {
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
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(heldPorts()).toContain(socket.localPort);
    const gone = await waitUntilDropped([socket.localPort ?? 0], started);
    expect(gone).toBeLessThan(READERS_GONE_MS);
    socket.destroy();
  });

  test.concurrent('with half a head behind answers of which the last is just not sent', {
    timeout: 180_000,
  }, async ({ expect }) => {
    // How many answers the kernel takes is its own affair: one of these is just past it.
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
