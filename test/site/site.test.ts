/**
 * The pages outside the API as bytes: their headers, codings and links, and errors in both forms.
 * `site-browser.test.ts` looks at them in a browser.
 */
import { once } from 'node:events';
import { readdirSync, realpathSync, utimesSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import path, { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { hashKey } from '#lib/format/api-key.ts';
import { readManifest } from '#lib/generations/generations.ts';
import { publishedAt } from '#lib/generations/history.ts';
import { makePages } from '#site/pages.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { faultOfMarkup } from '#test/support/markup.ts';
import { FRAME } from '#test/support/pages.ts';
import { makeFolder, NEVER, ROOT, startProxy, testKey, writeKeys } from '#test/support/product.ts';

const FILES = ['site/static/files', 'site/explore/files', 'lib/pages/files'];
const PUBLIC_URL = 'https://api.covers.example';
const paths = [...makePages({ publicUrl: PUBLIC_URL, defaultLimit: 120, frame: FRAME }).keys()];
/** As browsers send it. */
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const key = testKey(1);
const pages = paths.filter((path) => !/[.]\w+$/.test(path));

// The folder has no generation, because the pages do not need one.
const snapshotsDir = makeFolder();
writeKeys(snapshotsDir, [key]);
const proxy = await startProxy(snapshotsDir, { PUBLIC_URL }, NEVER);

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** Sends a request with exactly this path. */
async function sendRequest(path: string, headers = {}, method = 'GET'): Promise<Answer> {
  const sent = request({
    host: '127.0.0.1',
    port: proxy.port,
    path,
    method,
    headers,
    agent: false,
  });
  sent.end();
  const [response] = await once(sent, 'response');
  const bytes = Buffer.concat(await response.toArray());
  return { status: response.statusCode, headers: response.headers, bytes };
}

describe.each(paths)('%s', (path) => {
  test('needs no key and has the security headers', async () => {
    const { status, headers, bytes } = await sendRequest(path);
    expect(status).toBe(200);
    expect(bytes.length).toBeGreaterThan(0);
    expect(headers['content-length']).toBe(String(bytes.length));
    expect(headers['content-type']).toMatch(/charset=utf-8$|^image\/svg\+xml$/);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; /);
    expect(headers['content-security-policy']).not.toMatch(/unsafe|http|\*/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['cache-control']).toBe('no-cache');
    expect(headers.etag).toMatch(/^"[0-9a-f]{16}"$/);
    expect(headers.vary).toBe('Accept-Encoding');
  });
});

// One large, one small, one of each type: all are answered in one way.
test.each(['/', '/docs/reference', '/explore.css', '/icon.svg', '/robots.txt'])(
  '%s has a form for each coding, 304 and HEAD, and refuses DELETE',
  async (path) => {
    const plain = await sendRequest(path);
    const decoders = { gzip: gunzipSync, br: brotliDecompressSync };
    for (const coding of ['gzip', 'br'] as const) {
      const asked = { 'accept-encoding': coding };
      const { headers, bytes } = await sendRequest(path, asked);
      const isCompressed = plain.bytes.length >= 1024;
      expect(headers['content-encoding']).toBe(isCompressed ? coding : undefined);
      expect((isCompressed ? decoders[coding](bytes) : bytes).equals(plain.bytes)).toBe(true);
      expect(headers.etag === plain.headers.etag).toBe(!isCompressed);
      const again = await sendRequest(path, { ...asked, 'if-none-match': headers.etag });
      expect([again.status, again.bytes.length]).toEqual([304, 0]);
      expect(again.headers.etag).toBe(headers.etag);
      expect(again.headers['content-type']).toBeUndefined();
      expect(again.headers['content-security-policy']).toBe(headers['content-security-policy']);
    }
    const head = await sendRequest(path, {}, 'HEAD');
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect(head.headers['content-length']).toBe(String(plain.bytes.length));
    const refused = await sendRequest(path, {}, 'DELETE');
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD']);
  },
);

describe('the site', () => {
  test.each([
    '/Docs',
    '/docs/../openapi.yaml',
    '/docs/%2e%2e/site.ts',
    '/docs/guides/pages.md',
    '/docs/searching',
    '/docs/..%2f..%2fpackage.json',
    '/docs//',
    '//docs/',
    '//',
    '/%00',
    '/__proto__',
    '/constructor',
  ])('answers 404 to %s', async (path) => {
    const { status, bytes } = await sendRequest(path);
    expect([status, bytes.toString()]).toEqual([404, '{"error":"Not found"}']);
  });

  test.each([
    ['/docs/', '/docs'],
    ['/docs/pages/?key=cck_1', '/docs/pages'],
  ])('leads from %s to %s', async (path, expected) => {
    const { status, headers, bytes } = await sendRequest(path);
    expect([status, headers.location, bytes.length]).toEqual([308, expected, 0]);
    expect((await sendRequest(expected)).status).toBe(200);
  });

  test.each(FILES)('serves every file of %s', (folder) => {
    const served = paths.map((path) => path.split('/').at(-1) ?? '');
    expect(served).toEqual(expect.arrayContaining(readdirSync(join(ROOT, folder))));
  });

  test.each([...pages, '/no-such-page'])(
    'has no inline scripts or styles and no dead links in %s',
    async (path) => {
      const html = (await sendRequest(path, BROWSER)).bytes.toString();
      expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
      expect(html).not.toMatch(/<style|<script>|\sstyle=|\son\w+=|javascript:/i);
      const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target);
      expect(targets.length).toBeGreaterThan(4);
      const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => `#${id}`);
      expect(new Set(ids).size).toBe(ids.length);
      const known = [...paths, '/explore', '/match', '/status', '/account/api-keys', ...ids];
      const own = targets.filter((target) => !target?.startsWith('https://'));
      for (const target of own) expect(known).toContain(target?.replace(/(?<=.)#.*/, ''));
      expect(faultOfMarkup(html)).toBeUndefined();
    },
  );
});

describe('an error', () => {
  test.each([
    ['/no-such-page', 'GET', 404, 'There is no such page', 'Not found'],
    ['/docs', 'POST', 405, 'This page can only be read', 'Method not allowed'],
  ])(
    '%s %s is a page for browsers and JSON for programs',
    async (path, method, status, title, error) => {
      const page = await sendRequest(path, BROWSER, method);
      expect(page.status).toBe(status);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.headers['cache-control']).toBe('no-store');
      expect(page.headers.vary).toBe('Accept');
      expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; /);
      expect(page.bytes.toString()).toContain(`<h1>${title}</h1>`);
      for (const accept of ['*/*', 'application/json', 'text/html;q=0', 'x-text/html-y', '']) {
        const reply = await sendRequest(path, { accept }, method);
        expect([reply.status, reply.bytes.toString()]).toEqual([status, JSON.stringify({ error })]);
        expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
      }
    },
  );

  test('of a malformed request is a page for browsers and JSON for programs', async () => {
    const fault = 'X-Snapshot must be given at most once';
    const twice = { 'x-snapshot': ['000001-0123456789ab', '000002-0123456789ab'] };
    const page = await sendRequest('/docs', { ...BROWSER, ...twice });
    expect([page.status, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
    expect(page.bytes.toString()).toContain(`<p class="lead">${fault}.</p>`);
    const reply = await sendRequest('/docs', twice);
    expect([reply.status, reply.bytes.toString()]).toEqual([400, JSON.stringify({ error: fault })]);
  });

  test('of the API is always JSON', async () => {
    for (const path of ['/api/v1', '/api/v1/no-such-path', '/api/v1/docs']) {
      const { status, headers } = await sendRequest(path, BROWSER);
      expect([status, headers['content-type']]).toEqual([401, 'application/json; charset=utf-8']);
    }
  });

  test('shows nothing of the request', async () => {
    const { bytes } = await sendRequest('/no-such-page?<script>alert(1)</script>', BROWSER);
    expect(bytes.toString()).not.toContain('alert(1)');
  });
});

test('a program that has the hash of a key learns whether the key works, and nothing else', async () => {
  const ended = testKey(2, { state: 'revoked' });
  writeKeys(snapshotsDir, [key, ended]);
  const ask = async (name: string) => {
    const { status, bytes } = await sendRequest(`/key-status/${name}`);
    return [status, bytes.toString()];
  };
  const hash = hashKey(key.key);
  await proxy.refresh();
  expect(await ask(hash)).toEqual([200, '{"works":true}']);
  expect((await sendRequest(`/key-status/${hash}`)).headers['cache-control']).toBe('no-store');
  for (const other of [hashKey(ended.key), '0'.repeat(64)]) {
    expect(await ask(other)).toEqual([200, '{"works":false}']);
  }
  for (const name of [key.key, hash.toUpperCase(), hash.slice(1), '', '../status']) {
    expect(await ask(name)).toEqual([404, '{"error":"Not found"}']);
  }
});

test('the changelog shows only the API', async () => {
  const changelog = (await sendRequest('/changelog')).bytes.toString();
  expect(changelog).toContain('sort=relevance');
  expect(changelog).not.toMatch(/MariaDB|systemd|operations\//);
});

test('the status tells the age of the data, the last publication and maintenance, without a database', async () => {
  const dir = await makeSampleSnapshots();
  // Copying a folder changes its time.
  utimesSync(realpathSync(join(dir, 'current')), 0, 0);
  const { url } = await startProxy(dir, { PUBLIC_URL }, NEVER);
  const read = async () => {
    const reply = await fetch(`${url}/status.json`);
    expect([reply.status, reply.headers.get('cache-control')]).toEqual([200, 'no-store']);
    return (await reply.json()) as { readonly snapshot: string };
  };
  const status = await read();
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(status).toEqual({
    snapshot: path.basename(realpathSync(join(dir, 'current'))),
    data_as_of: time,
    data_age_seconds: expect.any(Number),
    published_at: publishedAt(readManifest(join(dir, 'current'))),
    maintenance: false,
  });
  const page = await (await fetch(`${url}/status`)).text();
  expect(page).toContain('The API is working.');
  expect(page).toContain(`<code>${status.snapshot}</code>`);
  expect(faultOfMarkup(page)).toBeUndefined();
  // A folder without a generation.
  expect(JSON.parse((await sendRequest('/status.json')).bytes.toString())).toMatchObject({
    snapshot: null,
    data_as_of: null,
  });
  expect((await sendRequest('/status', {}, 'POST')).status).toBe(405);
});
