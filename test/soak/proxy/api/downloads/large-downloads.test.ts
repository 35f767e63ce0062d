/**
 * Downloads of a large file by slow, stopped and vanished clients, and of generations that are removed
 * in the meantime. Other requests are as fast as without them, and memory stays bounded.
 */
import { createCipheriv } from 'node:crypto';
import { closeSync, cpSync, openSync, rmSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MINISEARCH } from '#lib/format/layout.ts';
import { currentId, generationDir, pointCurrentTo } from '#lib/generations/generations.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { until } from '#test/soak/support/until.ts';
import { openFilesIn, residentMegabytes } from '#test/support/processes.ts';
import {
  makeFolder,
  PARSERS,
  type ProxyProgram,
  startProxyProgram,
  testKey,
} from '#test/support/product.ts';
import { openSocket } from '#test/support/servers/sockets.ts';
import { fitManifest } from '#test/support/wholeness.ts';

const MEGABYTE = 1024 * 1024;
const SIZE = (IS_FULL ? 256 : 48) * MEGABYTE;
const keys = [1, 2, 3, 4, 5, 6].map((id) => testKey(id));
const [key] = keys;
/** How many downloads run at the same time. */
const DOWNLOADS = 8;
const LARGE = `/snapshot/files/${MINISEARCH}`;

/** A snapshots folder with one generation, whose search.json is a large file: the proxy does not read it. */
async function makeLargeSnapshots(): Promise<string> {
  const snapshotsDir = await makeSampleSnapshots(keys);
  const id = currentId(snapshotsDir) as string;
  const descriptor = openSync(path.join(generationDir(snapshotsDir, id), MINISEARCH), 'w');
  for (let at = 0; at < SIZE; at += MEGABYTE) writeSync(descriptor, blockAt(at));
  closeSync(descriptor);
  pointCurrentTo(snapshotsDir, fitManifest(snapshotsDir, id));
  return snapshotsDir;
}

let large: Promise<string> | undefined;

/** @returns a new copy, since some tests damage it */
async function copyLargeSnapshots(): Promise<string> {
  large ??= makeLargeSnapshots();
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  cpSync(await large, snapshotsDir, { recursive: true, verbatimSymlinks: true });
  return snapshotsDir;
}

/** A megabyte of text that differs from all others, and that gzip shrinks by a quarter. */
function blockAt(at: number): Buffer {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.from(`${at}`.padEnd(16)));
  return Buffer.from(cipher.update(Buffer.alloc((MEGABYTE * 3) / 4)).toString('base64'));
}

const agents: { destroy(): void }[] = [];

afterAll(() => {
  for (const each of agents) each.destroy();
});

/** Opens a connection and requests the large file. */
async function requestLarge(proxy: ProxyProgram, more = '', { key: sent } = key) {
  const socket = await openSocket(proxy.port);
  socket.on('error', () => {});
  socket.write(`GET /api/v1${LARGE} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${sent}\r\n${more}\r\n`);
  agents.push(socket);
  return socket;
}

describe.each(IS_FULL ? PARSERS : PARSERS.slice(0, 1))('over %s', (name, fields) => {
  let snapshotsDir: string;
  let proxy: ProxyProgram;
  const megabytes = () => residentMegabytes(proxy.child.pid);
  /** The descriptors of the proxy that refer to the large file. */
  const openLarge = () =>
    openFilesIn(snapshotsDir, proxy.child.pid).filter((file) => file.includes(MINISEARCH));

  beforeEach(async () => {
    snapshotsDir = await copyLargeSnapshots();
    proxy = await startProxyProgram(snapshotsDir);
  });
  afterEach(() => proxy.stop());

  const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}\r\n`);
  const download = (more = '', one = key) => requestLarge(proxy, lines.join('') + more, one);

  test('downloads at the same time take little memory, and are complete', async () => {
    const before = megabytes();
    let highest = 0;
    const timer = setInterval(() => {
      highest = Math.max(highest, megabytes());
    }, 50);
    const isComplete = async (encoding: string) => {
      const { headers, body } = await request(`${proxy.url}/api/v1${LARGE}`, {
        headers: { ...fields, 'x-api-key': key.key, 'accept-encoding': encoding },
      });
      let size = 0;
      for await (const piece of body) size += piece.length;
      return headers['content-encoding'] === undefined ? size === SIZE : size > SIZE / 2;
    };
    const encodings = ['identity', 'gzip'].flatMap((encoding) =>
      Array(DOWNLOADS / 2).fill(encoding),
    );
    const complete = await Promise.all(encodings.map(isComplete));
    clearInterval(timer);
    expect(complete).toEqual(Array(DOWNLOADS).fill(true));
    printFigure(
      `${DOWNLOADS} downloads of ${SIZE / MEGABYTE} MB (${name})`,
      `${Math.round(highest - before)} MB more memory`,
    );
    expect(highest - before).toBeLessThan(64);
  });

  test('clients that stop reading hold a descriptor each and little memory', async () => {
    const before = megabytes();
    const sockets = await Promise.all(
      Array.from({ length: 2 * DOWNLOADS }, async (_, i) => {
        const socket = await download('', keys[i % 2]);
        await new Promise((resolve) => socket.once('data', resolve));
        return socket.pause();
      }),
    );
    expect(openLarge()).toHaveLength(sockets.length);
    expect(megabytes() - before).toBeLessThan(40);
    for (const socket of sockets) socket.destroy();
    await until(() => openLarge().length === 0);
  });

  test('a download whose generation is removed ends, and no other begins', async () => {
    const socket = await download('Connection: close\r\n');
    const received: Buffer[] = [];
    socket.on('data', (piece: Buffer) => received.push(piece));
    await new Promise((resolve) => socket.once('data', resolve));
    rmSync(generationDir(snapshotsDir, currentId(snapshotsDir) as string), { recursive: true });
    await new Promise((resolve) => socket.once('close', resolve));
    const bytes = Buffer.concat(received);
    const body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
    expect(body.length).toBe(SIZE);
    for (let at = 0; at < SIZE; at += MEGABYTE) {
      expect(body.subarray(at, at + MEGABYTE).equals(blockAt(at))).toBe(true);
    }
    const again = await proxy.get(LARGE, key.key, fields);
    expect([again.status, again.json]).toEqual([503, { error: 'Snapshot busy' }]);
  });

  test('a cached game is sent as fast while eight downloads run', async () => {
    const measure = async (times: number): Promise<number> => {
      const durations: number[] = [];
      for (let i = 0; i < times; i++) {
        const began = performance.now();
        await proxy.get('/games/snes/chrono-trigger', key.key, fields);
        durations.push(performance.now() - began);
        await pause(2);
      }
      return durations.toSorted((a, b) => a - b)[times >> 1] as number;
    };
    await measure(100);
    const alone = await measure(300);
    let isOver = false;
    const sockets = new Set<Socket>();
    // Each client reads about 2 MB a second, together as much as an uplink of 130 Mbit/s carries.
    const clients = Array.from({ length: DOWNLOADS }, async (_, number) => {
      while (!isOver) {
        const more = number % 2 === 0 ? '' : 'Accept-Encoding: gzip\r\n';
        const socket = await download(more);
        sockets.add(socket);
        for await (const piece of socket as AsyncIterable<Buffer>) {
          if (isOver) break;
          await pause((piece.length / (2 * MEGABYTE)) * 1000);
        }
      }
    });
    await pause(300);
    const during = await measure(300);
    isOver = true;
    for (const socket of sockets) socket.destroy();
    await Promise.allSettled(clients);
    const figure = `median ${alone.toFixed(2)} ms alone, ${during.toFixed(2)} ms with ${DOWNLOADS} downloads`;
    printFigure(`A cached game during downloads (${name})`, figure);
    expect(during, figure).toBeLessThan(alone * 2 + 2);
  });
});
