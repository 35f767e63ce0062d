/** The contract of depots, checked with each kind; the API is in `api.test.ts`. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Depot, TransferError, type WritableDepot } from '#depot/depot.ts';
import { makeHttpClient } from '#depot/http.ts';
import { openDepot, openKeysDepot, openWritableDepot } from '#depot/open.ts';
import { transferAll } from '#depot/transfers.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeFolder } from '#test/support/product.ts';
import { readBytes } from '#test/support/replicas.ts';
import { BUCKET, startS3 } from '#test/support/servers/s3.ts';
import { serve, serveFolder } from '#test/support/servers/static-files.ts';

const { environment } = await startS3();
let opened = 0;
const KINDS = ['folder', 's3'] as const;

/** Opens a new depot. Those in S3 share a bucket and have different prefixes. */
async function openEmpty(kind: (typeof KINDS)[number]): Promise<WritableDepot> {
  if (kind === 'folder') return openWritableDepot(makeFolder());
  return openWritableDepot(`s3://${BUCKET}/prefix/${++opened}`, { environment });
}

const read = async (depot: Depot, name: string) => (await readBytes(depot, name))?.toString();

describe.each(KINDS)('a depot of the kind %s', (kind) => {
  let depot: WritableDepot;
  beforeEach(async () => {
    depot = await openEmpty(kind);
  });
  afterEach(() => depot.close());

  test('returns what was put, or put last', async () => {
    await depot.put('files/abc', Buffer.from('hello'));
    expect(await read(depot, 'files/abc')).toBe('hello');
    for (const name of ['files/ab', 'files/abc/d']) expect(await depot.get(name)).toBeUndefined();
    await depot.put('files/abc', Buffer.from('hallo'));
    expect(await read(depot, 'files/abc')).toBe('hallo');
    await depot.put('files/abc.zst', Buffer.from('?'));
    expect(await depot.get('files/abc.zst')).toMatchObject({ coding: 'zstd' });
  });

  test('lists by prefix, and removes, also what is missing', async () => {
    expect(await depot.list('b/')).toEqual([]);
    for (const name of ['b/2', 'b/10/x', 'a/1', 'bb/1']) await depot.put(name, Buffer.from(name));
    const listed = await depot.list('b/');
    expect(listed.map((object) => [object.path, object.size]).toSorted()).toEqual([
      ['b/10/x', 6],
      ['b/2', 3],
    ]);
    // In whole seconds, and by a clock of the kernel that lags a little.
    for (const { modifiedAt } of listed) expect(modifiedAt).toBeGreaterThan(1e12);
    await depot.remove('b/2');
    await depot.remove('b/2');
    expect(await depot.get('b/2')).toBeUndefined();
  });

  test('refuses paths that lead elsewhere', async () => {
    for (const name of ['', '/a', 'a/', '../a', 'a/../b', '.a', 'a//b', 'a b', 'a?b', 'ä']) {
      const expected = /is not the path of an object/;
      await expect(depot.get(name)).rejects.toThrow(expected);
      await expect(depot.put(name, Buffer.alloc(0))).rejects.toThrow(expected);
      await expect(depot.remove(name)).rejects.toThrow(expected);
    }
  });
});

describe('a folder', () => {
  let folder: string;
  let depot: WritableDepot;
  beforeEach(() => {
    folder = makeFolder();
    depot = openWritableDepot(folder);
  });

  test('keeps the old object if a write fails, and leaves nothing behind', async () => {
    await depot.put('a/b', Buffer.from('old'));
    mkdirSync(path.join(folder, 'c/b'), { recursive: true });
    await expect(depot.put('c/b', Buffer.from('new'))).rejects.toThrow(/^write .*c\/b/);
    expect(await read(depot, 'a/b')).toBe('old');
    expect(readdirSync(path.join(folder, 'unfinished'))).toEqual([]);
  });

  test('that is missing is an error, and one that disappears may come back', async () => {
    rmSync(folder, { recursive: true });
    const put = () => depot.put('a/b', Buffer.from('b'));
    for (const call of [() => depot.get('a'), () => depot.list('b/'), put]) {
      await expect(call()).rejects.toThrow(/does not exist. Create it/);
    }
    expect(existsSync(folder)).toBe(false);
    mkdirSync(folder);
    expect(await depot.get('a')).toBeUndefined();
  });

  test('refuses symbolic links and pipes by name', async () => {
    const secret = path.join(makeFolder(), 'secret');
    writeFileSync(secret, 'secret');
    symlinkSync(secret, path.join(folder, 'release.json'));
    await expect(depot.get('release.json')).rejects.toThrow(/release\.json.*symbolic link/);
    symlinkSync(path.dirname(secret), path.join(folder, 'files'));
    await expect(depot.get('files/secret')).rejects.toThrow(/files is a symbolic link/);
    await expect(depot.put('files/x', Buffer.from('x'))).rejects.toThrow(/symbolic link/);
    expect(await depot.list('generations/')).toEqual([]);
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    await expect(depot.get('pipe')).rejects.toThrow(/pipe is not a regular file/);
  });
});

describe('S3', () => {
  const TIME = '2026-01-01T00:00:00.000Z';
  const entry = (name: string, time = TIME) =>
    `<Contents><Key>site/${name}</Key><Size>1</Size><LastModified>${time}</LastModified></Contents>`;
  const listOf = (...parts: string[]) => `<ListBucketResult>${parts.join('')}</ListBucketResult>`;
  const more = (token: string) => `<NextContinuationToken>${token}</NextContinuationToken>`;

  async function openServed(answer: RequestListener): Promise<WritableDepot> {
    const credentials = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
    const served = { ...credentials, AWS_ENDPOINT_URL_S3: await serve(answer) };
    const depot = openWritableDepot('s3://catalogue/site', { environment: served });
    atEndOfFile(() => depot.close());
    return depot;
  }

  test('lists more objects than one page has, and tries again', async () => {
    // Some servers name the last object. Its coding is not that of the list.
    const TOKEN = 'next+page/files/a.zst';
    const tokens: (string | null)[] = [];
    let failures = 0;
    const depot = await openServed((request, response) => {
      if (failures++ === 0) return response.writeHead(503, { 'retry-after': '0' }).end();
      const { searchParams } = new URL(request.url ?? '', 'http://s3');
      tokens.push(searchParams.get('continuation-token'));
      return response.end(
        tokens.length === 1
          ? listOf(entry('b'), '<IsTruncated>true</IsTruncated>', more(TOKEN))
          : listOf(entry('a'), '<IsTruncated>false</IsTruncated>'),
      );
    });
    expect((await depot.list('')).map((object) => object.path)).toEqual(['b', 'a']);
    expect(tokens).toEqual([null, TOKEN]);
  });

  test.each<[string, (page: number) => string]>([
    ['repeats a token', () => more('a')],
    ['has pages without end', (page) => more(String(page))],
    ['has objects without end', (page) => entry(`a${page}`).repeat(30_000) + more(String(page))],
  ])('refuses a list that %s', async (_name, pageOf) => {
    let pages = 0;
    const depot = await openServed((_request, response) => {
      response.end(listOf(pageOf(++pages)));
    });
    await expect(depot.list('')).rejects.toThrow(/sends a list that does not end/);
  });

  test('reads entries without an end as fast as others, and skips those without a size or time', async () => {
    let page = listOf(entry('b'), entry('c', 'soon'), '<Contents><Key>site/d</Key></Contents>');
    const depot = await openServed((_request, response) => response.end(page));
    const listed = [{ path: 'b', size: 1, modifiedAt: Date.parse(TIME) }];
    expect(await depot.list('')).toEqual(listed);
    // A pattern that looks for the end of each would take quadratic time: most of an hour.
    page = listOf(entry('b'), '<Contents><Key>site/x</Key>'.repeat(150_000));
    expect(await depot.list('')).toEqual(listed);
  });

  test('fails if it takes an object more slowly than anybody needs', async () => {
    let time = 0;
    const now = () => (time += 10_000);
    const client = makeHttpClient(undefined, { now, pause: async () => {} });
    const url = await serve((request, response) => {
      request.resume().on('end', () => response.end());
    });
    const put = client.send(url, { method: 'PUT', body: Buffer.alloc(500_000) });
    await expect(put).rejects.toThrow(/takes the bytes too slowly/);
    client.close();
  });

  test('does not list the objects of another prefix', async () => {
    const other = openWritableDepot(`s3://${BUCKET}/other2`, { environment });
    await other.put('a', Buffer.from('a'));
    const depot = openWritableDepot(`s3://${BUCKET}/other`, { environment });
    expect(await depot.list('')).toEqual([]);
    for (const each of [other, depot]) each.close();
  });

  test('names what is wrong, and never a secret', async () => {
    const wrong = { ...environment, AWS_SECRET_ACCESS_KEY: 'a-wrong-secret' };
    const depot = openWritableDepot(`s3://${BUCKET}/x`, { environment: wrong });
    const calls = [() => depot.get('a'), () => depot.list(''), () => depot.remove('a')];
    for (const call of [...calls, () => depot.put('a', Buffer.from('a'))]) {
      const error = await call().catch((reason) => reason);
      expect(error.message).toMatch(/answers 403 \("SignatureDoesNotMatch.*the credentials/);
      expect(error.message).not.toContain('a-wrong-secret');
      expect(error).not.toBeInstanceOf(TransferError);
    }
    depot.close();
    const missing = openDepot('s3://no-such-bucket', { environment });
    await expect(missing.get('a')).rejects.toThrow(/NoSuchBucket.*Check the address/);
    missing.close();
  });
});

describe('a web server', () => {
  async function serving(answer: RequestListener): Promise<Depot> {
    const depot = openDepot(`${await serve(answer)}/base/`);
    atEndOfFile(() => depot.close());
    return depot;
  }

  test('is read like the folder that it serves', async () => {
    const folder = makeFolder();
    const behind = openWritableDepot(folder);
    const depot = openDepot(await serveFolder(folder));
    await behind.put('files/abc', Buffer.from('hello'));
    expect(await read(depot, 'files/abc')).toBe('hello');
    expect(await depot.get('files/none')).toBeUndefined();
    await behind.put('files/abc', Buffer.from('hallo'.repeat(2)));
    expect(await read(depot, 'files/abc')).toBe('hallohallo');
    for (const each of [behind, depot]) each.close();
  });

  test('that is overloaded may be asked again, as it says', async () => {
    const depot = await serving((_request, response) =>
      response.writeHead(503, { 'retry-after': '7' }).end(),
    );
    const error = await depot.get('a').catch((reason) => reason);
    expect(error).toBeInstanceOf(TransferError);
    expect(error.waitMs).toBe(7_000);
    expect(error.message).toMatch(/http:\/\/127\.0\.0\.1:\d+\/base\/a answers 503/);
  });

  test('that stops in the middle, or sends nothing, is a transfer that may be tried again', async () => {
    const cut = await serving((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('12345', () => response.destroy());
    });
    await expect(read(cut, 'a')).rejects.toThrow(TransferError);
    const silent = openDepot(await serve(() => {}), { stallMs: 20 });
    await expect(silent.get('a')).rejects.toThrow(TransferError);
    const slow = (_request: unknown, response: { write(text: string): unknown }) =>
      response.write('1');
    const stalled = openDepot(await serve(slow), { stallMs: 20 });
    await expect(read(stalled, 'a')).rejects.toThrow(/the connection was cut/);
    for (const each of [silent, stalled]) each.close();
  });

  test('that announces its reply again and again is not waited for', async () => {
    let announced = 10;
    const depot = await serving((_request, response) => {
      for (let i = 0; i < announced; i++) response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.end('hello');
    });
    expect(await read(depot, 'a')).toBe('hello');
    announced++;
    await expect(depot.get('a')).rejects.toThrow(TransferError);
  });

  test('ends calls when it is closed', async () => {
    const depot = await serving(() => {});
    const reading = depot.get('a');
    depot.close();
    for (const call of [reading, depot.get('a')]) await expect(call).rejects.toThrow(/closed/);
  });

  test('that refuses or redirects is an error that says so', async () => {
    let status = 403;
    const depot = await serving((_request, response) => {
      response.writeHead(status, status === 403 ? {} : { location: 'https://elsewhere.example/' });
      response.end();
    });
    await expect(depot.get('a')).rejects.toThrow(/answers 403\. .*the key or the credentials/);
    status = 301;
    await expect(depot.get('a')).rejects.toThrow(/redirects to "https:\/\/elsewhere\.example\/"/);
  });
});

test('of large files, one at a time is transferred, beside smaller ones', async () => {
  const files = [9, 9, 9, 1, 1, 1].map((size) => ({ size }));
  const active: number[] = [];
  const seen: number[][] = [];
  const transfer = async ({ size }: { readonly size: number }) => {
    active.push(size);
    seen.push([...active]);
    await setImmediate();
    active.splice(active.indexOf(size), 1);
  };
  await transferAll('sending', files, transfer, { advance() {}, step() {}, warn() {} }, 9);
  expect(seen).toHaveLength(files.length);
  expect(seen.filter((sizes) => sizes.filter((size) => size === 9).length > 1)).toEqual([]);
  expect(seen).toContainEqual([9, 1]);
});

describe('an address', () => {
  test('of another kind is refused, without its password', () => {
    const environment = {};
    expect(() => openDepot('ftp://me:pw@a.org/')).toThrow(/"ftp:\/\/…@a\.org\/" is not/);
    expect(() => openDepot('https://me:pw@a.org/')).toThrow(/http or https address/);
    expect(() => openDepot('https://me:pw@a.org/')).not.toThrow(/pw/);
    expect(() => openWritableDepot('https://a.org/')).toThrow(/can only be read/);
    expect(() => openDepot('s3://abc', { environment })).toThrow(
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
      expect(() => openDepot(address, { environment })).toThrow(/not an address of S3/);
      expect(() => openDepot(address, { environment })).not.toThrow(/secret/);
    }
  });

  test('of an API needs a key, and no other does', () => {
    const api = 'https://a.org/api/v1/snapshot';
    const file = path.join(makeFolder(), 'key');
    expect(() => openDepot(api)).toThrow(/needs --key-file with an API key/);
    expect(() => openDepot(api, { keyFile: file })).toThrow(/--key-file: ENOENT/);
    writeFileSync(file, 'cck_secret');
    expect(() => openDepot(api, { keyFile: file })).toThrow(/does not hold an API key/);
    expect(() => openDepot(api, { keyFile: file })).not.toThrow(/cck_secret/);
    expect(() => openDepot('https://a.org/', { keyFile: file })).toThrow(
      /ends with \/api\/v1.*and no other does/,
    );
  });

  test('of keys is not within a depot that others read', () => {
    const others = { SNAPSHOT_PUSH: 's3://site/snapshots', REPLICA_FROM: '' };
    for (const address of ['s3://site/snapshots', 's3://site/snapshots/keys/']) {
      expect(() => openKeysDepot(address, others)).toThrow(/is within SNAPSHOT_PUSH/);
    }
    expect(() => openKeysDepot('./site/keys', { REPLICA_FROM: 'site' })).toThrow(/is within/);
    expect(openKeysDepot('/srv/snapshots-keys', { SNAPSHOT_PUSH: '/srv/snapshots' })).toBeDefined();
    expect(openKeysDepot('', others)).toBeUndefined();
  });
});
