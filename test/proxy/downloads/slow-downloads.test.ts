/**
 * Downloads by slow and stopped clients, and of files that change in the meantime. Each piece is read only
 * when the client has taken the one before, from the file that was checked.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { MANIFEST, MINISEARCH } from '../../../format/layout.ts';
import { encodeManifest, makeManifest } from '../../../format/manifest.ts';
import {
  currentId,
  generationDir,
  pointCurrentTo,
  readManifest,
} from '../../../generations/generations.ts';
import { makeDownloadSlots } from '../../../proxy/downloads/download-slots.ts';
import { gzipPieces, mayCompress } from '../../../proxy/downloads/gzip-pieces.ts';
import { writePieces } from '../../../proxy/http/message/write-pieces.ts';
import { identityOf } from '../../../proxy/snapshot/open-files.ts';
import { FileGoneError, readPieces, type StoredFile } from '../../../proxy/snapshot/stored-file.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import {
  makeFolder,
  NEVER,
  type OwnProxy,
  PARSERS,
  startProxy,
  type TestKey,
  testKey,
} from '../../support/product.ts';
import { openSocket } from '../../support/servers/sockets.ts';

const MEGABYTE = 1024 * 1024;
/** More than the kernel keeps for a connection whose client does not read. */
const SIZE = 24 * MEGABYTE;
/** How many downloads one key may have at the same time. */
const MOST_PER_KEY = 8;
const LARGE = `/snapshot/files/${MINISEARCH}`;
/** The content of the large file: each four bytes are their own number. */
const CONTENT = Buffer.from(Uint32Array.from({ length: SIZE / 4 }, (_, index) => index).buffer);
const keys = [testKey(1), testKey(2)] as const;
const [key] = keys;

/** Makes the file of the search in the current generation a large one: the proxy does not read it. */
function enlarge(snapshotsDir: string): void {
  const dir = generationDir(snapshotsDir, currentId(snapshotsDir) as string);
  writeFileSync(path.join(dir, MINISEARCH), CONTENT);
  const sha256 = createHash('sha256').update(CONTENT).digest('hex');
  const { files, ...content } = readManifest(dir);
  const changed = files.map((each) =>
    each.path === MINISEARCH ? { path: MINISEARCH, size: SIZE, sha256 } : each,
  );
  const manifest = makeManifest({ ...content, files: changed }, 1);
  writeFileSync(path.join(dir, MANIFEST), encodeManifest(manifest));
  renameSync(dir, generationDir(snapshotsDir, manifest.id));
  pointCurrentTo(snapshotsDir, manifest.id);
}

interface Download {
  readonly socket: Socket;
  readonly received: Buffer[];
}

/** How many descriptors of this process refer to a file in a folder. */
function openDescriptors(folder: string): number {
  const targets = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(`${folder}/`)).length;
}

/** Replaces a file by another one. */
function replace(file: string, content: Buffer): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

/** Replaces the content of a file in place. */
function overwrite(file: string, content: Buffer): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, content, 0, content.length, 0);
  closeSync(descriptor);
}

describe.each(PARSERS)('over %s', (_, fields) => {
  let snapshotsDir: string;
  let proxy: OwnProxy;

  beforeAll(async () => {
    snapshotsDir = await makeSampleSnapshots(keys);
    enlarge(snapshotsDir);
    proxy = await startProxy(snapshotsDir, {}, NEVER);
  });

  const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}\r\n`);

  /** Begins a download on a new connection, and stops reading it after the first bytes. */
  async function beginDownload({ key }: TestKey): Promise<Download> {
    const socket = await openSocket(proxy.port);
    socket.on('error', () => {});
    const received: Buffer[] = [];
    socket.on('data', (piece: Buffer) => received.push(piece));
    socket.write(
      `GET /api/v1${LARGE} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nConnection: close\r\n${lines.join('')}\r\n`,
    );
    await once(socket, 'data');
    socket.pause();
    return { socket, received };
  }

  test('a key may have eight downloads that are stopped, and keeps no other key waiting', async () => {
    const downloads = await Promise.all(
      Array.from({ length: MOST_PER_KEY }, () => beginDownload(key)),
    );
    const firstByte = (one: TestKey) =>
      proxy.get(LARGE, one.key, { ...fields, range: 'bytes=0-0' });
    const { status, json, headers } = await firstByte(key);
    expect([status, json, headers['retry-after']]).toEqual([
      503,
      { error: 'Too many downloads' },
      '5',
    ]);
    expect((await firstByte(keys[1])).status).toBe(206);
    expect((await proxy.get('/stats', key.key)).status).toBe(200);

    const [{ socket, received }, ...others] = downloads as [Download, ...Download[]];
    socket.resume();
    await once(socket, 'close');
    const bytes = Buffer.concat(received);
    expect(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).equals(CONTENT)).toBe(true);
    expect((await firstByte(key)).status).toBe(206);
    for (const each of others) each.socket.destroy();
  });

  test('a download whose file is replaced is cut off, without a wrong byte', async () => {
    const { socket, received } = await beginDownload(key);
    const dir = generationDir(snapshotsDir, currentId(snapshotsDir) as string);
    replace(path.join(dir, MINISEARCH), Buffer.alloc(SIZE, 0xff));
    socket.resume();
    await once(socket, 'close');
    const bytes = Buffer.concat(received);
    const body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
    expect(body.length).toBeLessThan(SIZE);
    expect(body.equals(CONTENT.subarray(0, body.length))).toBe(true);
    const again = await proxy.get(LARGE, key.key, fields);
    expect([again.status, again.json]).toEqual([503, { error: 'Snapshot busy' }]);
    expect((await proxy.get('/stats', key.key)).status).toBe(200);
  });
});

describe('the pieces of a file', () => {
  /** A file of a few pieces in a folder of its own, as it was checked. */
  function storeFile(): StoredFile {
    const dir = makeFolder();
    const file = { path: 'file', size: MEGABYTE, sha256: 'a'.repeat(64) };
    const name = path.join(dir, file.path);
    writeFileSync(name, CONTENT.subarray(0, MEGABYTE));
    const descriptor = openSync(name, 'r');
    const identity = identityOf(file, descriptor);
    closeSync(descriptor);
    return { dir, file, identity };
  }

  test('are the bytes from the first to the last one asked for', async () => {
    const pieces: Buffer[] = [];
    for await (const piece of readPieces(storeFile(), 5, MEGABYTE - 3)) {
      pieces.push(Buffer.from(piece));
    }
    expect(pieces.length).toBeGreaterThan(2);
    expect(Buffer.concat(pieces).equals(CONTENT.subarray(5, MEGABYTE - 3))).toBe(true);
  });

  test.each<[string, (file: string) => void]>([
    ['removed', (file) => rmSync(file)],
    ['renamed', (file) => renameSync(file, `${file}.unfinished`)],
    ['replaced', (file) => replace(file, CONTENT.subarray(0, MEGABYTE))],
    ['overwritten', (file) => overwrite(file, Buffer.alloc(MEGABYTE, 0xff))],
    ['shortened', (file) => writeFileSync(file, CONTENT.subarray(0, 1000))],
  ])('end with an error once the file was %s', async (_, change) => {
    const stored = storeFile();
    const pieces = readPieces(stored, 0, MEGABYTE);
    expect((await pieces.next()).done).toBe(false);
    // However long the client takes for a piece, no descriptor is open.
    expect(openDescriptors(stored.dir)).toBe(0);
    change(path.join(stored.dir, stored.file.path));
    await expect(pieces.next()).rejects.toThrow(FileGoneError);
    expect(openDescriptors(stored.dir)).toBe(0);
  });

  test('are compressed for four downloads at once, until the client leaves', async () => {
    const begin = () => gzipPieces(readPieces(storeFile(), 0, MEGABYTE));
    const compressed = Array.from({ length: 4 }, begin);
    for (const each of compressed) {
      expect(mayCompress()).toBe(true);
      await each.next();
    }
    expect(mayCompress()).toBe(false);
    for (const each of compressed) await each.return(undefined);
    expect(mayCompress()).toBe(true);
  });
});

test('a compressed download reads no more of its file than its client takes', async () => {
  let read = 0;
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) {
      read++;
      yield randomBytes(64 * 1024);
    }
  }
  const compressed = gzipPieces(endless());
  const taken = 5;
  for (let piece = 0; piece < taken; piece++) await compressed.next();
  // Some more are in the compressor.
  expect(read).toBeLessThan(taken + 10);
  await compressed.return(undefined);
});

describe('the slots of downloads', () => {
  test('are a few for each key, and some only for the first download of a key', () => {
    const slots = makeDownloadSlots({ most: 6, perKey: 3, reserved: 2 });
    const take = (...names: string[]) => names.map((name) => slots.take(name));
    expect(take('a', 'a', 'a', 'a')).toEqual([true, true, true, false]);
    expect(take('b', 'b')).toEqual([true, false]);
    expect(take('c', 'd', 'e')).toEqual([true, true, false]);
    slots.free('a');
    expect(take('a', 'e')).toEqual([false, true]);
    for (const name of ['a', 'a', 'b']) slots.free(name);
    expect(take('c', 'a', 'a')).toEqual([true, true, false]);
  });
});

test('a client that does not take a piece in time loses its connection, and no further piece is made', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const client = await openSocket((server.address() as AddressInfo).port);
  client.on('error', () => {}).pause();
  const [socket]: Socket[] = await accepted;
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
  const write = (piece: Buffer, onTaken: () => void) => socket.write(piece, onTaken);
  expect(await writePieces(pieces(), { socket, write, longestMs: 100 })).toBe(false);
  expect([socket.destroyed, isEnded]).toEqual([true, true]);
  // Only what the kernel has taken, and one piece.
  expect(made).toBeLessThan(20);
  client.destroy();
  server.close();
});
