/**
 * Downloads of a large file by slow, stopped and vanished clients, and of generations that are removed
 * in the meantime. Other requests are as fast as without them, and memory stays bounded.
 */
import { createCipheriv } from 'node:crypto';
import {
  closeSync,
  cpSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MANIFEST, MINISEARCH } from '../../../format/layout.ts';
import { encodeManifest, makeManifest } from '../../../format/manifest.ts';
import { writePieces } from '../../../proxy/http/message/write-pieces.ts';
import { hashOfFile } from '../../../store/files/checked-files.ts';
import {
  currentId,
  generationDir,
  pointCurrentTo,
} from '../../../store/generations/generations.ts';
import { readManifest } from '../../../store/generations/manifest-file.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import {
  makeFolder,
  type RunningProxy,
  startProxy,
  testKey,
  until,
} from '../../support/product.ts';
import { printFigure, rounds } from '../../support/rounds.ts';
import { openSocket } from '../../support/servers/sockets.ts';

const MEGABYTE = 1024 * 1024;
const SIZE = rounds(48, 256) * MEGABYTE;
const keys = [1, 2, 3, 4, 5, 6].map((id) => testKey(id));
const [key] = keys;
/** How many downloads one key may have at the same time. */
const MOST_PER_KEY = 20;
const LARGE = `/snapshot/files/${MINISEARCH}`;

/** A snapshots folder with one generation, whose `search.json` is a large file that nothing reads. */
async function makeLargeSnapshots(): Promise<string> {
  const snapshotsDir = await makeSampleSnapshots(keys);
  const dir = generationDir(snapshotsDir, currentId(snapshotsDir) as string);
  const file = path.join(dir, MINISEARCH);
  const descriptor = openSync(file, 'w');
  for (let at = 0; at < SIZE; at += MEGABYTE) writeSync(descriptor, blockAt(at));
  closeSync(descriptor);
  const large = { path: MINISEARCH, size: SIZE, sha256: hashOfFile(file, SIZE) };
  const { files, ...content } = readManifest(dir);
  const changed = files.map((each) => (each.path === MINISEARCH ? large : each));
  const manifest = makeManifest({ ...content, files: changed }, 1);
  writeFileSync(path.join(dir, MANIFEST), encodeManifest(manifest));
  renameSync(dir, generationDir(snapshotsDir, manifest.id));
  pointCurrentTo(snapshotsDir, manifest.id);
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

const rssOf = ({ child }: RunningProxy) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;

/** How many descriptors of the proxy refer to the large file. */
function openDescriptors({ child }: RunningProxy): number {
  const folder = `/proc/${child.pid}/fd`;
  const targets = readdirSync(folder).map((name) => {
    try {
      return readlinkSync(path.join(folder, name));
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.includes(MINISEARCH)).length;
}

const agents: { destroy(): void }[] = [];

afterAll(() => {
  for (const each of agents) each.destroy();
});

const start = (snapshotsDir: string, fastPath: string) =>
  startProxy(snapshotsDir, { HTTP_FAST_PATH: fastPath });

/** Opens a connection and requests the large file. */
async function requestLarge(proxy: RunningProxy, more = '', { key: sent } = key) {
  const socket = await openSocket(proxy.port);
  socket.on('error', () => {});
  socket.write(`GET /api/v1${LARGE} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${sent}\r\n${more}\r\n`);
  agents.push(socket);
  return socket;
}

describe.each(['on', 'off'])('with the fast path %s', { timeout: 300_000 }, (fastPath) => {
  let snapshotsDir: string;
  let proxy: RunningProxy;

  beforeEach(async () => {
    snapshotsDir = await copyLargeSnapshots();
    proxy = await start(snapshotsDir, fastPath);
  });
  afterEach(() => proxy.kill());

  test('ten downloads at once take little memory, and are complete', async () => {
    const before = rssOf(proxy);
    let highest = 0;
    const timer = setInterval(() => {
      highest = Math.max(highest, rssOf(proxy));
    }, 50);
    const download = async (encoding: string) => {
      const { headers, body } = await request(`${proxy.url}/api/v1${LARGE}`, {
        headers: { 'x-api-key': key.key, 'accept-encoding': encoding },
      });
      let size = 0;
      for await (const piece of body) size += piece.length;
      return headers['content-encoding'] === undefined ? size === SIZE : size > SIZE / 2;
    };
    const encodings = ['identity', 'gzip'].flatMap((encoding) => Array(5).fill(encoding));
    const complete = await Promise.all(encodings.map(download));
    clearInterval(timer);
    expect(complete).toEqual(Array(10).fill(true));
    printFigure(
      `Ten downloads of ${SIZE / MEGABYTE} MB (fast path ${fastPath})`,
      `${Math.round(highest - before)} MB more memory`,
    );
    expect(highest - before).toBeLessThan(64);
  });

  test('clients that stop reading hold no descriptors and little memory', async () => {
    const before = rssOf(proxy);
    const sockets = await Promise.all(
      Array.from({ length: 2 * MOST_PER_KEY }, async (_, i) => {
        const socket = await requestLarge(proxy, '', keys[i % 2]);
        await new Promise((resolve) => socket.once('data', resolve));
        return socket.pause();
      }),
    );
    await until(() => openDescriptors(proxy) === 0);
    expect(rssOf(proxy) - before).toBeLessThan(40);
    for (const socket of sockets) socket.destroy();
    expect((await proxy.get('/stats', key.key)).status).toBe(200);
  });

  test('other requests are answered while a hundred downloads are stopped, and no further one begins, nor a key’s 21st', async () => {
    const sockets: Socket[] = [];
    const begin = (one: (typeof keys)[number]) => proxy.get(LARGE, one.key, { range: 'bytes=0-0' });
    const expectRefused = async (one: (typeof keys)[number]) => {
      const { status, json, headers } = await begin(one);
      expect([status, json, headers['retry-after']]).toEqual([
        503,
        { error: 'Too many downloads' },
        '5',
      ]);
    };
    const last = keys[5];
    for (const one of keys.slice(0, 5)) {
      expect((await begin(one)).status).toBe(206);
      const own = await Promise.all(
        Array.from({ length: MOST_PER_KEY }, () => requestLarge(proxy, '', one)),
      );
      await Promise.all(
        own.map((socket) => new Promise((resolve) => socket.once('data', resolve))),
      );
      for (const socket of own) sockets.push(socket.pause());
      await expectRefused(one);
      if (sockets.length < 100) expect((await begin(last)).status).toBe(206);
    }
    await expectRefused(last);
    expect((await proxy.get('/stats', key.key)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await pause(200);
    for (const one of keys) expect((await begin(one)).status).toBe(206);
  });

  test.each([
    ['removed', (dir: string) => rmSync(dir, { recursive: true })],
    ['renamed', (dir: string) => renameSync(dir, path.join(path.dirname(dir), '.unfinished-x'))],
    [
      'changed',
      (dir: string) => {
        const file = path.join(dir, MINISEARCH);
        writeFileSync(`${file}.new`, Buffer.alloc(SIZE, 'wrong '));
        renameSync(`${file}.new`, file);
      },
    ],
    [
      'overwritten',
      (dir: string) => {
        const descriptor = openSync(path.join(dir, MINISEARCH), 'r+');
        expect(fstatSync(descriptor).size).toBe(SIZE);
        writeSync(descriptor, Buffer.alloc(SIZE, 'wrong '), 0, SIZE, 0);
        closeSync(descriptor);
      },
    ],
  ])('a download whose generation is %s is cut off, without a wrong byte', async (_, change) => {
    const socket = await requestLarge(proxy);
    const received: Buffer[] = [];
    socket.on('data', (piece: Buffer) => received.push(piece));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    await pause(200);
    change(generationDir(snapshotsDir, currentId(snapshotsDir) as string));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    const bytes = Buffer.concat(received);
    const body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
    expect(body.length).toBeGreaterThan(0);
    expect(body.length).toBeLessThan(SIZE);
    expect(body.includes('wrong ')).toBe(false);
    for (let at = 0; at < body.length; at += MEGABYTE) {
      const block = body.subarray(at, at + MEGABYTE);
      expect(block.equals(blockAt(at).subarray(0, block.length))).toBe(true);
    }
    expect((await proxy.get('/stats', key.key)).status).toBe(200);
    expect((await proxy.get(LARGE, key.key)).status).toBe(410);
  });

  test('a cached game is sent as fast while ten downloads run', async () => {
    const measure = async (times: number): Promise<number> => {
      const durations: number[] = [];
      for (let i = 0; i < times; i++) {
        const began = performance.now();
        await proxy.get('/games/snes/chrono-trigger', key.key);
        durations.push(performance.now() - began);
        await pause(2);
      }
      return durations.toSorted((a, b) => a - b)[times >> 1] as number;
    };
    await measure(100);
    const alone = await measure(300);
    let isOver = false;
    const sockets = new Set<Socket>();
    // Each client reads about 2 MB a second, together as much as an uplink of 160 Mbit/s carries.
    const clients = Array.from({ length: 10 }, async (_, number) => {
      while (!isOver) {
        const more = number % 2 === 0 ? '' : 'Accept-Encoding: gzip\r\n';
        const socket = await requestLarge(proxy, more);
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
    const figure = `median ${alone.toFixed(2)} ms alone, ${during.toFixed(2)} ms with 10 downloads`;
    printFigure(`A cached game during downloads (fast path ${fastPath})`, figure);
    expect(during, figure).toBeLessThan(alone * 2 + 2);
  });
});

test('a client that does not take a piece in time loses its connection', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const client = await openSocket((server.address() as AddressInfo).port);
  client.on('error', () => {}).pause();
  const socket = await accepted;
  let made = 0;
  let isEnded = false;
  async function* pieces(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        made++;
        yield Buffer.alloc(MEGABYTE);
      }
    } finally {
      isEnded = true;
    }
  }
  const began = performance.now();
  const write = (piece: Buffer, onTaken: () => void) => socket.write(piece, onTaken);
  expect(await writePieces(pieces(), { socket, write, longestMs: 300 })).toBe(false);
  expect(performance.now() - began).toBeGreaterThan(290);
  expect(socket.destroyed).toBe(true);
  expect(isEnded).toBe(true);
  // Only what the kernel has taken, and one piece.
  expect(made).toBeLessThan(20);
  client.destroy();
  server.close();
});

test('a compressed large file is the same', async () => {
  const proxy = await start(await copyLargeSnapshots(), 'on');
  const reply = await proxy.get(LARGE, key.key, { 'accept-encoding': 'gzip' });
  const body = gunzipSync(reply.bytes);
  expect(body.length).toBe(SIZE);
  expect(body.subarray(-MEGABYTE).equals(blockAt(SIZE - MEGABYTE))).toBe(true);
});
