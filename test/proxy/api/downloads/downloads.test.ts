/** `GET /snapshot`, `/snapshot/archive` and `/snapshot/files/{path}`, by both parsers: a generation as it is on disk. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { currentId } from '#lib/generations/generations.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { checkContract } from '#test/support/openapi.ts';
import {
  makeFolder,
  NEVER,
  PARSERS,
  type Reply,
  send,
  startProxy,
  testKey,
} from '#test/support/product.ts';
import { filesOf } from '#test/support/replicas.ts';
import { openSocket, readToEnd, sendRaw } from '#test/support/servers/sockets.ts';

const key = testKey(1);
// Large enough for several pieces.
const catalogue = seededCatalogue({ games: 3000, seed: 5, platforms: 4 });
const snapshotsDir = await makeSnapshots(catalogue, [key]);
const id = currentId(snapshotsDir) as string;
const files = filesOf(snapshotsDir, id);
const proxy = await startProxy(snapshotsDir, {}, NEVER);

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
const contentOf = (name: string) => files.get(name) as Buffer;

describe.each(PARSERS)('over %s', (_, fields) => {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = (target: string, more = '') =>
    `GET /api/v1${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n${lines.join('')}${more}\r\n`;
  /** Sends a GET, and checks the response against openapi.yaml. */
  const get = async (target: string, headers: Record<string, string> = {}) => {
    const reply = await proxy.get(target, key.key, { ...fields, ...headers });
    checkContract('GET', `/api/v1${target}`, reply);
    return reply;
  };
  const getFile = (name: string, headers: Record<string, string> = {}) =>
    get(`/snapshot/files/${name}`, headers);
  const head = (target: string, headers: Record<string, string> = {}): Promise<Reply> =>
    send(`${proxy.url}/api/v1${target}`, {
      method: 'HEAD',
      headers: { 'x-api-key': key.key, ...fields, ...headers },
    });

  test('every file that the manifest names is sent as it is', async () => {
    const manifest = await get('/snapshot');
    expect(manifest.bytes).toEqual(contentOf('manifest.json'));
    expect(manifest.json.files.length).toBe(files.size - 1);
    for (const { path, size, sha256: expected } of manifest.json.files) {
      const reply = await getFile(path);
      expect([reply.status, reply.bytes.length], path).toEqual([200, size]);
      expect(sha256(reply.bytes).toString('hex')).toBe(expected);
      expect(reply.headers).toMatchObject({
        etag: `"${expected}"`,
        'x-snapshot': id,
        'accept-ranges': 'bytes',
        'cache-control': 'private, no-cache',
        'content-length': String(size),
        'access-control-allow-origin': '*',
        'content-type': path.endsWith('.json')
          ? 'application/json; charset=utf-8'
          : 'application/octet-stream',
      });
    }
  });

  test('a whole file is compressed with gzip if the client accepts it', async () => {
    const reply = await getFile('search.json', { 'accept-encoding': 'br, gzip;q=0.5' });
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(reply.headers.vary).toContain('Accept-Encoding');
    expect(gunzipSync(reply.bytes)).toEqual(contentOf('search.json'));
    expect(reply.headers.etag).toBe(`"${sha256(contentOf('search.json')).toString('hex')}-gzip"`);
    for (const none of ['gzip;q=0', 'br', 'identity, gzip;q=0.5', '*']) {
      const plain = await getFile('search.json', { 'accept-encoding': none });
      expect(plain.headers['content-encoding'], none).toBeUndefined();
    }
  });

  test.each(['', '-gzip'])('a client that has the file with the ETag …%s gets 304', async (end) => {
    const etag = `"${sha256(contentOf('search.json')).toString('hex')}${end}"`;
    const headers = { 'if-none-match': `"x", W/${etag}`, 'accept-encoding': 'gzip' };
    const reply = await getFile('search.json', headers);
    expect([reply.status, reply.bytes.length]).toEqual([304, 0]);
    expect(reply.headers).toMatchObject({ etag, 'x-snapshot': id });
  });

  test('a range is sent alone and never compressed, if it and If-Range fit', async () => {
    const file = contentOf('index/paths.bin');
    const etag = `"${sha256(file).toString('hex')}"`;
    const getRange = (range: string, ifRange = etag) =>
      getFile('index/paths.bin', { range, 'if-range': ifRange, 'accept-encoding': 'gzip' });
    for (const [range, from, to] of [
      ['bytes=65530-65550', 65530, 65551],
      ['bytes=-1', file.length - 1, file.length],
    ] as const) {
      const reply = await getRange(range);
      expect(reply.status).toBe(206);
      expect(reply.bytes.equals(file.subarray(from, to))).toBe(true);
      expect(reply.headers).toMatchObject({
        'content-range': `bytes ${from}-${to - 1}/${file.length}`,
        'content-length': String(to - from),
        etag,
      });
    }
    const behind = await getRange(`bytes=${file.length}-`);
    expect([behind.status, behind.json.error]).toEqual([416, 'Range not satisfiable']);
    expect(behind.headers['content-range']).toBe(`bytes */${file.length}`);
    expect((await getRange('bytes=5-', '"other"')).status).toBe(200);
  });

  test('HEAD has the header fields of GET, and ignores Range', async () => {
    const reply = await head('/snapshot/files/index/paths.bin', { range: 'bytes=0-9' });
    expect([reply.status, reply.bytes.length]).toEqual([200, 0]);
    expect(reply.headers).toMatchObject({
      'content-length': String(contentOf('index/paths.bin').length),
      'accept-ranges': 'bytes',
      'x-snapshot': id,
    });
    const compressed = await head('/snapshot', { 'accept-encoding': 'gzip' });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(compressed.headers['content-length']).toBeUndefined();
  });

  test('a client that has the bytes of a file since they changed gets 304, unless it sends an ETag', async () => {
    const { files: listed } = JSON.parse(String(contentOf('manifest.json')));
    const at = new Date(
      listed.find(({ path }: { path: string }) => path === 'stats.json').changed_at,
    );
    const conditional = (time: number, more = {}) =>
      getFile('stats.json', { 'if-modified-since': new Date(time).toUTCString(), ...more });
    const reply = await conditional(at.getTime() - 1000);
    expect([reply.status, reply.headers['last-modified']]).toEqual([200, at.toUTCString()]);
    expect((await conditional(at.getTime())).status).toBe(304);
    expect((await conditional(at.getTime(), { 'if-none-match': '"other"' })).status).toBe(200);
    for (const other of ['2999-01-01', '1 Jan 2999', 'Invalid Date']) {
      const ignored = await getFile('stats.json', { 'if-modified-since': other });
      expect([other, ignored.status]).toEqual([other, 200]);
    }
  });

  test('the archive is what tar reads as the files of the manifest, whole and in ranges', async () => {
    const whole = await get('/snapshot/archive', { 'accept-encoding': 'gzip' });
    const { etag } = whole.headers as { etag: string };
    expect(whole.headers).toMatchObject({
      'content-type': 'application/x-tar',
      'content-length': String(whole.bytes.length),
      'accept-ranges': 'bytes',
      'x-snapshot': id,
    });
    const folder = makeFolder();
    execFileSync('tar', ['-xf', '-', '-C', folder], { input: whole.bytes });
    const names = execFileSync('tar', ['-tf', '-'], { input: whole.bytes })
      .toString()
      .trim()
      .split('\n');
    expect(names.toSorted()).toEqual([...files.keys()].toSorted());
    expect(names[0]).toBe('manifest.json');
    for (const name of names) {
      expect(readFileSync(path.join(folder, name)).equals(contentOf(name)), name).toBe(true);
    }
    const { length } = whole.bytes;
    for (let at = 0; at < length; at += Math.ceil(length / 7)) {
      const range = `bytes=${at}-${at + Math.ceil(length / 7) - 1}`;
      const part = await get('/snapshot/archive', { range, 'if-range': etag });
      expect(part.status).toBe(206);
      expect(part.bytes.equals(whole.bytes.subarray(at, at + Math.ceil(length / 7)))).toBe(true);
    }
    expect((await get('/snapshot/archive', { 'if-none-match': etag })).status).toBe(304);
    expect((await head('/snapshot/archive')).headers['content-length']).toBe(String(length));
  });

  test.each(['/snapshot', '/snapshot/archive', '/snapshot/files/index/paths.bin'])(
    '%s gets 412 if another snapshot is current than the request expects',
    async (target) => {
      expect((await get(target, { 'x-snapshot': id })).status).toBe(200);
      const other = { 'x-snapshot': '000009-123456789abc' };
      for (const more of [{}, { range: 'bytes=0-9' }, { 'if-none-match': '*' }]) {
        const reply = await get(target, { ...other, ...more });
        expect([reply.status, reply.json]).toEqual([
          412,
          { error: expect.stringMatching(/^Snapshot changed\. /) },
        ]);
      }
      expect((await head(target, other)).status).toBe(412);
      expect((await get(target, { 'x-snapshot': 'x' })).status).toBe(400);
    },
  );

  test.each([
    ...['manifest.json', '', 'none.json', '../keys.json', '..%2f..%2fkeys.json', 'games', 'games/'],
    ...['games/../stats.json', './stats.json', '/stats.json', 'stats.json/', '%E0%A4%A'],
    '%6danifest.json',
    '../../../../../../../../etc/passwd',
  ])('the path %j is not found', async (name) => {
    // Not with an HTTP client, which would resolve "..".
    const unkept = request(`/snapshot/files/${name}`, 'Connection: close\r\n');
    const received = await sendRaw(proxy.port, unkept);
    expect(received).toMatch(/^HTTP\/1\.1 404 /);
    expect(received.endsWith('{"error":"Not found"}')).toBe(true);
  });

  test('a percent-encoded path is equivalent, also if its slash is encoded, as generated clients do', async () => {
    const [pack = ''] = [...files.keys()].filter((path) => path.startsWith('games/'));
    const plain = await getFile(pack);
    expect(plain.status).toBe(200);
    for (const path of [encodeURIComponent(pack), pack.replace('/', '%2f').replace('.', '%2e')]) {
      const encoded = await getFile(path);
      expect([encoded.status, encoded.headers.etag], path).toEqual([200, plain.headers.etag]);
    }
  });

  test('a connection can be used again after a download', async () => {
    const socket = await openSocket(proxy.port);
    socket.write(
      request('/snapshot/files/index/paths.bin') +
        request('/stats') +
        request('/snapshot/files/search.json', 'Accept-Encoding: gzip\r\n') +
        request('/stats', 'Connection: close\r\n'),
    );
    const received = Buffer.from(await readToEnd(socket), 'latin1');
    expect(received.toString('latin1').match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(4);
    expect(received.includes(contentOf('index/paths.bin'))).toBe(true);
    expect(received.subarray(-contentOf('stats.json').length)).toEqual(contentOf('stats.json'));
  });
});

test('SNAPSHOT_DOWNLOADS=off turns all of them off', async () => {
  const proxy = await startProxy(snapshotsDir, { SNAPSHOT_DOWNLOADS: 'off' }, NEVER);
  for (const target of ['/snapshot', '/snapshot/archive', '/snapshot/files/stats.json']) {
    const reply = await proxy.get(target, key.key);
    expect([reply.status, reply.json]).toEqual([404, { error: 'Not found' }]);
  }
  expect((await proxy.get('/stats', key.key)).status).toBe(200);
});
