/**
 * Downloads by slow and stopped clients, and of files that change in the meantime. Pieces are read only
 * when the client takes them, from the file that was checked.
 */
import { once } from 'node:events';
import {
  closeSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { MINISEARCH } from '#lib/format/layout.ts';
import type { Manifest } from '#lib/format/manifest.ts';
import { identityIn } from '#lib/generations/files/checked-files.ts';
import { currentId, generationDir, pointCurrentTo } from '#lib/generations/generations.ts';
import { makeSlots } from '#proxy/admit/limits/slots.ts';
import { gzipPieces, MOST_DOWNLOADS } from '#proxy/api/downloads.ts';
import { toResponder } from '#proxy/http/node-response.ts';
import { isUnderWay, newDownloadCount, StoredFiles } from '#proxy/snapshot/stored-files.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import {
  makeFolder,
  NEVER,
  PARSERS,
  startProxy,
  type TestKey,
  testKey,
} from '#test/support/product.ts';
import { listenOn, openSocket, readToEnd } from '#test/support/servers/sockets.ts';
import { fitManifest } from '#test/support/wholeness.ts';

const MEGABYTE = 1024 * 1024;
/** More than the kernel keeps for a connection whose client does not read. */
const SIZE = 24 * MEGABYTE;
const LARGE = `/snapshot/files/${MINISEARCH}`;
/** The content of the large file: each four bytes are their own number. */
const CONTENT = Buffer.from(Uint32Array.from({ length: SIZE / 4 }, (_, index) => index).buffer);
const keys = [testKey(1), testKey(2)] as const;
const [key] = keys;

/** Makes the file of the search in the current generation a large one: the proxy does not read it. */
function enlarge(snapshotsDir: string): void {
  const id = currentId(snapshotsDir) as string;
  writeFileSync(path.join(generationDir(snapshotsDir, id), MINISEARCH), CONTENT);
  pointCurrentTo(snapshotsDir, fitManifest(snapshotsDir, id));
}

interface Download {
  readonly socket: Socket;
  readonly received: Buffer[];
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

describe.each(PARSERS)('over %s', async (_, fields) => {
  const snapshotsDir = await makeSampleSnapshots(keys);
  enlarge(snapshotsDir);
  const proxy = await startProxy(snapshotsDir, {}, NEVER);
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

  test('a key has a limited number of downloads, even if they are stopped; others still get theirs', async () => {
    const downloads = await Promise.all(
      Array.from({ length: MOST_DOWNLOADS / 2 }, () => beginDownload(key)),
    );
    const firstByte = (one: TestKey) =>
      proxy.get(LARGE, one.key, { ...fields, range: 'bytes=0-0' });
    const { status, json, headers } = await firstByte(key);
    expect([status, json]).toEqual([429, { error: 'Too many downloads' }]);
    expect(headers['retry-after']).toBe(headers['x-ratelimit-reset']);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await firstByte(keys[1])).status).toBe(206);
    expect((await proxy.get('/snapshot', key.key, fields)).status).toBe(200);
    // A response without a body needs no slot.
    const etag = (await firstByte(keys[1])).headers.etag as string;
    const known = await proxy.get(LARGE, key.key, { ...fields, 'if-none-match': etag });
    expect(known.status).toBe(304);

    const [{ socket, received }, ...others] = downloads as [Download, ...Download[]];
    socket.resume();
    await once(socket, 'close');
    const bytes = Buffer.concat(received);
    expect(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).equals(CONTENT)).toBe(true);
    expect((await firstByte(key)).status).toBe(206);
    for (const each of others) each.socket.destroy();
  });

  test('downloads on one connection are sent one after another, each in the slot of the one before', async () => {
    const request = `GET /api/v1/snapshot/files/stats.json HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n${lines.join('')}\r\n`;
    const socket = await openSocket(proxy.port);
    const received = readToEnd(socket);
    socket.end(request.repeat(MOST_DOWNLOADS));
    expect((await received).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(MOST_DOWNLOADS);
  });

  test('a file that is replaced on disk is sent as it was checked', async () => {
    const { socket, received } = await beginDownload(key);
    const dir = generationDir(snapshotsDir, currentId(snapshotsDir) as string);
    replace(path.join(dir, MINISEARCH), Buffer.alloc(SIZE, 0xff));
    socket.resume();
    await once(socket, 'close');
    const bytes = Buffer.concat(received);
    expect(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).equals(CONTENT)).toBe(true);
    const again = await proxy.get(LARGE, key.key, fields);
    expect(again.bytes.equals(CONTENT)).toBe(true);
  });
});

describe('the pieces of a file', () => {
  /** A file of a few pieces in a folder of its own, as it was checked. */
  function storeFile() {
    const dir = makeFolder();
    const file = { path: 'file', size: MEGABYTE, sha256: 'a'.repeat(64) };
    const name = path.join(dir, file.path);
    writeFileSync(name, CONTENT.subarray(0, MEGABYTE));
    const descriptor = openSync(name, 'r');
    atEndOfFile(() => closeSync(descriptor));
    const downloads = newDownloadCount();
    const stored = new StoredFiles({
      manifest: { files: [] } as unknown as Manifest,
      manifestFile: file,
      descriptors: new Map([[file.path, descriptor]]),
      identities: new Map([[file.path, identityIn(statSync(name, { bigint: true }), file.sha256)]]),
      downloads,
    });
    const read = (from = 0, to = MEGABYTE) => stored.read(file, from, to);
    return { name, read, isInUse: () => isUnderWay(downloads) };
  }

  const bytesOf = async (pieces: AsyncIterable<Buffer>) =>
    Buffer.concat(await Readable.from(pieces).toArray());

  test('are the bytes from the first to the last one asked for, and the file is then not in use', async () => {
    const { read, isInUse } = storeFile();
    const bytes = await bytesOf(read(5, MEGABYTE - 3));
    expect(bytes.equals(CONTENT.subarray(5, MEGABYTE - 3))).toBe(true);
    expect(isInUse()).toBe(false);
  });

  test.each<[string, (file: string) => void]>([
    ['removed', (file) => rmSync(file)],
    ['replaced', (file) => replace(file, Buffer.alloc(MEGABYTE, 0xff))],
  ])('are those of the checked file although it was %s', async (_, change) => {
    const { name, read } = storeFile();
    change(name);
    expect((await bytesOf(read())).equals(CONTENT.subarray(0, MEGABYTE))).toBe(true);
  });

  test.each<[string, (file: string) => void]>([
    ['overwritten', (file) => overwrite(file, Buffer.alloc(MEGABYTE, 0xff))],
    ['shortened', (file) => writeFileSync(file, CONTENT.subarray(0, 1000))],
  ])('end with an error once the file was %s, also if they are compressed', async (_, change) => {
    for (const pass of [(pieces: AsyncGenerator<Buffer>) => pieces, gzipPieces]) {
      const { name, read, isInUse } = storeFile();
      const source = read();
      await source.next();
      change(name);
      await expect(bytesOf(pass(source))).rejects.toThrow('file was overwritten');
      expect(isInUse()).toBe(false);
    }
  });

  test('are compressed until the client leaves', async () => {
    const files = Array.from({ length: 4 }, storeFile);
    const compressed = files.map(({ read }) => gzipPieces(read()));
    for (const each of compressed) await each.next();
    for (const { isInUse } of files) expect(isInUse()).toBe(true);
    for (const each of compressed) await each.return(undefined);
    for (const { isInUse } of files) await vi.waitUntil(() => !isInUse());
  });
});

test('a key may have as many downloads as are free for it, and the last are for keys without any', () => {
  const slots = makeSlots(6);
  const takeAll = (key: number) => {
    let own = 0;
    while (slots.take(key)) own++;
    return own;
  };
  expect([1, 2, 3, 4].map(takeAll)).toEqual([3, 1, 1, 1]);
  expect(slots.take(5)).toBe(false);
  for (let own = 0; own < 3; own++) slots.release(1);
  expect([5, 1].map(takeAll)).toEqual([1, 1]);
});

describe('a client that', () => {
  /** Sends it a body without an end. @returns the client, and how many pieces were made once it is cut */
  async function send(leastRate: { readonly bytes: number; readonly milliseconds: number }) {
    let made = 0;
    const cut = Promise.withResolvers<number>();
    async function* pieces() {
      try {
        for (;;) {
          made++;
          yield Buffer.alloc(MEGABYTE);
        }
      } finally {
        cut.resolve(made);
      }
    }
    const server = createServer((_, response) => {
      const head = { status: 200, headers: '' };
      const whole = toResponder(response, leastRate).sendPieces({ ...head, pieces: pieces() });
      whole.catch(cut.reject).finally(() => server.close());
    });
    const client = await openSocket(await listenOn(server));
    client.pause();
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    return { client: client.on('error', () => {}), cut: cut.promise };
  }

  test('stops reading is cut after a while, and few pieces are made for it', async () => {
    const { client, cut } = await send({ bytes: 1, milliseconds: 100 });
    // Only what the kernel has taken, and one piece.
    expect(await cut).toBeLessThan(20);
    client.destroy();
  });

  test('reads on, but below the least rate, is cut; above it, never', async () => {
    const slow = await send({ bytes: 2 ** 40, milliseconds: 300 });
    const fast = await send({ bytes: 1, milliseconds: 300 });
    let isCut = false;
    void fast.cut.then(() => {
      isCut = true;
    });
    for (const { client } of [slow, fast]) client.resume();
    await slow.cut;
    expect(isCut).toBe(false);
    fast.client.destroy();
    await fast.cut;
    slow.client.destroy();
  });
});
