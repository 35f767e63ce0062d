/** The contract of remote stores, checked with each implementation. */

import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contentOf, readUpTo } from '../../../depot/remote/content.ts';
import { openRemote } from '../../../depot/remote/open-remote.ts';
import type { GetOptions, RemoteStore } from '../../../depot/remote/remote.ts';
import { TransferError } from '../../../depot/transfer/try-again.ts';
import { atEndOfFile } from '../../support/end-of-file.ts';
import { makeFolder } from '../../support/product.ts';
import { BUCKET, type RunningS3, startS3 } from '../../support/servers/s3.ts';
import { serveFolder } from '../../support/servers/static-files.ts';

const STALL = { stallSeconds: 5 };
let store: RemoteStore;
let server: RunningS3 | undefined;
let opened = 0;

afterEach(() => store.close());

const KINDS = ['folder', 's3'] as const;

/** Opens a new store. Those in S3 share a bucket and have different prefixes. */
async function openEmpty(kind: (typeof KINDS)[number]): Promise<RemoteStore> {
  if (kind === 'folder') return openRemote(makeFolder(), STALL);
  server ??= await startS3();
  const { environment } = server;
  return openRemote(`s3://${BUCKET}/prefix/${++opened}`, { ...STALL, environment });
}

async function read(name: string, options: GetOptions = {}): Promise<string> {
  const reply = await store.get(name, options);
  if (reply.status !== 'found') return reply.status;
  return `${reply.offset}:${await readUpTo(reply.bytes, 1e6)}`;
}

async function etagOf(name: string): Promise<string | undefined> {
  const reply = await store.get(name);
  if (reply.status !== 'found') return undefined;
  reply.drop();
  return reply.etag;
}

describe.each(KINDS)('a remote store of the kind %s', (kind) => {
  beforeEach(async () => {
    store = await openEmpty(kind);
  });

  test('returns what was put', async () => {
    await store.put('files/abc', contentOf('hello'));
    expect(await read('files/abc')).toBe('0:hello');
    expect(await store.get('files/ab')).toEqual({ status: 'missing' });
    expect(await store.get('files')).toEqual({ status: 'missing' });
    expect(await store.get('files/abc/d')).toEqual({ status: 'missing' });
  });

  test('continues at an offset, and starts over if the object ends before it', async () => {
    await store.put('files/abc', contentOf('hello'));
    expect(await read('files/abc', { offset: 2 })).toBe('2:llo');
    expect(await read('files/abc', { offset: 5 })).toBe('0:hello');
    expect(await read('files/abc', { offset: 9 })).toBe('0:hello');
  });

  test('knows an unchanged object by its etag', async () => {
    await store.put('current.json', contentOf('1'));
    const etag = await etagOf('current.json');
    expect(etag).toBeDefined();
    expect(await read('current.json', { etag })).toBe('unchanged');
    await store.put('current.json', contentOf('2'));
    expect(await read('current.json', { etag })).toBe('0:2');
  });

  test('lists by prefix, in order', async () => {
    expect(await store.list('')).toEqual([]);
    const started = Date.now();
    for (const name of ['b/2', 'b/1', 'a', 'bb/1', 'b/10/x']) {
      await store.put(name, contentOf(name));
    }
    const paths = async (prefix: string) => (await store.list(prefix)).map((object) => object.path);
    expect(await paths('')).toEqual(['a', 'b/1', 'b/10/x', 'b/2', 'bb/1']);
    expect(await paths('b/')).toEqual(['b/1', 'b/10/x', 'b/2']);
    expect(await paths('b/1')).toEqual(['b/1', 'b/10/x']);
    expect(await paths('c/')).toEqual([]);
    const [{ size, modifiedAt } = { size: 0, modifiedAt: new Date(0) }] = await store.list('b/10');
    expect(size).toBe(6);
    // In whole seconds, and by a clock of the kernel that lags a little.
    expect(modifiedAt.getTime()).toBeGreaterThan(started - 1500);
    expect(modifiedAt.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test('removes objects, also missing ones', async () => {
    await store.put('a', contentOf('a'));
    await store.remove('a');
    await store.remove('a');
    expect(await read('a')).toBe('missing');
  });

  test('refuses paths that lead elsewhere', async () => {
    for (const name of ['', '/a', 'a/', '../a', 'a/../b', '.a', 'a//b', 'a b', 'a?b', 'ä']) {
      await expect(store.get(name)).rejects.toThrow(/is not the path of an object/);
      await expect(store.put(name, contentOf(''))).rejects.toThrow(/is not the path of an object/);
      await expect(store.remove(name)).rejects.toThrow(/is not the path of an object/);
    }
  });

  test('counts what it transfers', async () => {
    await store.put('a', contentOf('12345'));
    await read('a', { offset: 2 });
    expect(store.traffic()).toEqual({ requests: 2, received: 3, sent: 5 });
  });

  test('ends calls when it is closed, or when they are aborted', async () => {
    await store.put('a', contentOf('a'));
    await expect(read('a', { signal: AbortSignal.abort(new Error('no more')) })).rejects.toThrow(
      'no more',
    );
    const reply = await store.get('a');
    store.close();
    if (reply.status !== 'found') throw new Error('a is missing.');
    await expect(readUpTo(reply.bytes, 9)).rejects.toThrow(/closed/);
    await expect(store.get('a')).rejects.toThrow(/closed/);
  });
});

describe('a folder as a remote store', () => {
  let folder: string;
  beforeEach(() => {
    folder = makeFolder();
    store = openRemote(folder, STALL);
  });

  test('keeps the old object if a write fails, and leaves nothing behind', async () => {
    await store.put('a/b', contentOf('old'));
    const failing = {
      ...contentOf('new'),
      async *open() {
        yield Buffer.from('n');
        throw new Error('the disk is full');
      },
    };
    await expect(store.put('a/b', failing)).rejects.toThrow(/a\/b: the disk is full/);
    expect(await read('a/b')).toBe('0:old');
    expect(readdirSync(path.join(folder, 'a'))).toEqual(['b']);
  });

  test('removes what a killed writer left, but not what is being written', async () => {
    await store.put('a/b', contentOf('b'));
    const old = path.join(folder, 'a', '.unfinished-1');
    writeFileSync(old, 'x');
    utimesSync(old, 1000, 1000);
    writeFileSync(path.join(folder, 'a', '.unfinished-2'), 'x');
    expect((await store.list('')).map((object) => object.path)).toEqual(['a/b']);
    await store.removeUnfinished(new Date(2_000_000));
    expect(readdirSync(path.join(folder, 'a')).sort()).toEqual(['.unfinished-2', 'b']);
  });

  test('that is missing is an error, and one that disappears may come back', async () => {
    expect(() => openRemote(path.join(folder, 'none'), STALL)).toThrow(/none does not exist/);
    rmSync(folder, { recursive: true });
    await expect(store.get('a')).rejects.toThrow(TransferError);
    await expect(store.list('')).rejects.toThrow(TransferError);
    await expect(store.put('a/b', contentOf('b'))).rejects.toThrow(/ENOENT/);
    mkdirSync(folder);
    expect(await read('a')).toBe('missing');
  });
});

describe('a store in S3', () => {
  test('lists more objects than one page has', async () => {
    const TOKEN = 'next+page/=';
    const entry = (name: string) =>
      `<Contents><Key>site/${name}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`;
    const tokens: (string | null)[] = [];
    const url = await startServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://s3');
      tokens.push(searchParams.get('continuation-token'));
      const page =
        tokens.length === 1
          ? `${entry('b')}<IsTruncated>true</IsTruncated><NextContinuationToken>${TOKEN}</NextContinuationToken>`
          : `${entry('a')}<IsTruncated>false</IsTruncated>`;
      response.end(`<ListBucketResult>${page}</ListBucketResult>`);
    });
    const credentials = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
    const environment = { ...credentials, AWS_ENDPOINT_URL_S3: url };
    store = openRemote('s3://catalogue/site', { ...STALL, environment });
    expect((await store.list('')).map((object) => object.path)).toEqual(['a', 'b']);
    expect(tokens).toEqual([null, TOKEN]);
  });

  test('does not list the objects of another prefix', async () => {
    server ??= await startS3();
    const environment = server.environment;
    const other = openRemote(`s3://${BUCKET}/other2`, { ...STALL, environment });
    await other.put('a', contentOf('a'));
    store = openRemote(`s3://${BUCKET}/other`, { ...STALL, environment });
    expect(await store.list('')).toEqual([]);
    other.close();
  });

  test('names what is wrong, and never a secret', async () => {
    server ??= await startS3();
    const wrong = { ...server.environment, AWS_SECRET_ACCESS_KEY: 'a-wrong-secret' };
    store = openRemote(`s3://${BUCKET}/x`, { ...STALL, environment: wrong });
    const calls = [() => store.get('a'), () => store.list(''), () => store.remove('a')];
    for (const call of [...calls, () => store.put('a', contentOf('a'))]) {
      const error = await call().catch((reason) => reason);
      expect(error.message).toMatch(/answers 403 \(SignatureDoesNotMatch.*Check the credentials/);
      expect(error.message).not.toContain('a-wrong-secret');
      expect(error).not.toBeInstanceOf(TransferError);
    }
    const { environment } = server;
    store = openRemote('s3://no-such-bucket', { ...STALL, environment });
    await expect(store.get('a')).rejects.toThrow(/NoSuchBucket.*Create the bucket/);
    expect(() => openRemote('s3://abc', { ...STALL, environment: {} })).toThrow(
      /AWS_ACCESS_KEY_ID is not set\. s3:\/\/abc needs it/,
    );
    for (const address of [
      's3:',
      's3://',
      's3://B',
      's3://b/../c',
      's3://k:secret@b',
      's3://b?x',
    ]) {
      expect(() => openRemote(address, { ...STALL, environment })).toThrow(/not an address of S3/);
      expect(() => openRemote(address, { ...STALL, environment })).not.toThrow(/secret/);
    }
  });
});

describe('a store behind a web server', () => {
  let folder: string;
  beforeEach(async () => {
    folder = makeFolder();
    store = openRemote(await serveFolder(folder), STALL);
  });

  test('is read like any other', async () => {
    const behind = openRemote(folder, STALL);
    await behind.put('files/abc', contentOf('hello'));
    expect(await read('files/abc')).toBe('0:hello');
    expect(await read('files/abc', { offset: 2 })).toBe('2:llo');
    expect(await read('files/abc', { offset: 5 })).toBe('0:hello');
    expect(await read('files/none')).toBe('missing');
    const etag = await etagOf('files/abc');
    expect(await read('files/abc', { etag })).toBe('unchanged');
    await behind.put('files/abc', contentOf('hallo'.repeat(2)));
    expect(await read('files/abc', { etag })).toBe('0:hallohallo');
    behind.close();
  });

  test('cannot be written', async () => {
    expect(store.isWritable).toBe(false);
    await expect(store.put('a', contentOf(''))).rejects.toThrow(/can only be read/);
    await expect(store.list('')).rejects.toThrow(/can only be read/);
    await expect(store.remove('a')).rejects.toThrow(/can only be read/);
  });
});

/** Starts a server that ends with the file. @returns its address */
async function startServer(answer: RequestListener): Promise<string> {
  const http = createServer(answer).listen(0, '127.0.0.1');
  atEndOfFile(() => {
    http.close();
    http.closeAllConnections();
  });
  await once(http, 'listening');
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

describe('a web server', () => {
  async function serving(answer: RequestListener): Promise<void> {
    store = openRemote(`${await startServer(answer)}/base/`, STALL);
  }

  test('is asked for an unchanged object over one connection', async () => {
    const connections = new Set<unknown>();
    await serving((request, response) => {
      connections.add(request.socket);
      response.writeHead(304).end();
    });
    for (let i = 0; i < 5; i++) {
      expect(await read('a', { etag: '"1"' })).toBe('unchanged');
      // The connection is free when the end of the reply was read.
      await new Promise(setImmediate);
    }
    expect(connections.size).toBe(1);
  });

  test('that is overloaded may be asked again, as it says', async () => {
    await serving((_request, response) => response.writeHead(503, { 'retry-after': '7' }).end());
    const error = await store.get('a').catch((reason) => reason);
    expect(error).toBeInstanceOf(TransferError);
    expect(error.waitMs).toBe(7_000);
    expect(error.message).toMatch(/http:\/\/127\.0\.0\.1:\d+\/base\/a answers 503/);
  });

  test('that stops in the middle is a transfer that may be tried again', async () => {
    await serving((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('12345', () => response.destroy());
    });
    await expect(read('a')).rejects.toThrow(TransferError);
  });

  test('that refuses or redirects is an error that says so', async () => {
    let status = 403;
    await serving((_request, response) => {
      response.writeHead(status, { location: 'https://elsewhere.example/' }).end();
    });
    await expect(store.get('a')).rejects.toThrow(/answers 403\. Check the credentials/);
    status = 301;
    await expect(store.get('a')).rejects.toThrow(/redirects to https:\/\/elsewhere\.example\//);
  });

  test('that sends other bytes than the wanted ones is not trusted', async () => {
    await serving((_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes 1-2/3' }).end('bc');
    });
    await expect(store.get('a', { offset: 2 })).rejects.toThrow(/Content-Range bytes 1-2\/3/);
  });
});

test('an address of another kind is refused, without its password', () => {
  store = openRemote(makeFolder(), STALL);
  expect(() => openRemote('ftp://me:pw@a.org/', STALL)).toThrow(
    /"ftp:\/\/…@a\.org\/" is not the address/,
  );
  expect(() => openRemote('https://me:pw@a.org/', STALL)).toThrow(/http or https address/);
  expect(() => openRemote('https://me:pw@a.org/', STALL)).not.toThrow(/pw/);
});
