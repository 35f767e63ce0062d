/**
 * The pages outside the API, served by the real proxy: their headers, and in a real browser that they
 * are readable, work, and load nothing from other origins.
 */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openSite } from '../../../proxy/site/site.ts';
import {
  type Chromium,
  LONGEST_WAIT_MS,
  makeVisits,
  SCREENS,
  type Screen,
  startChromium,
  type Visits,
} from '../../support/browser.ts';
import { type JsonObject, readContract } from '../../support/openapi.ts';
import {
  makeFolder,
  type RunningProxy,
  startProxy,
  testKey,
  writeKeys,
} from '../../support/product.ts';

const SITE_FILES = join(import.meta.dirname, '../../../proxy/site/files');
const PALE_TEXT = readFileSync(join(import.meta.dirname, 'pale-text.js'), 'utf8');
const paths = [...openSite('https://api.covers.example').keys()];
const key = testKey(1);

let proxy: RunningProxy;

beforeAll(async () => {
  // The folder has no generation, because the pages do not need one.
  const snapshotsDir = makeFolder();
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
});

afterAll(async () => {
  await proxy?.stop();
});

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

  test('has the same content in every coding, each with its own ETag', async () => {
    const plain = await sendRequest(path);
    const decoders = { gzip: gunzipSync, br: brotliDecompressSync };
    for (const coding of ['gzip', 'br'] as const) {
      const { headers, bytes } = await sendRequest(path, { 'accept-encoding': coding });
      const isCompressed = plain.bytes.length >= 1024;
      expect(headers['content-encoding']).toBe(isCompressed ? coding : undefined);
      const decoded = isCompressed ? decoders[coding](bytes) : bytes;
      expect(decoded.equals(plain.bytes)).toBe(true);
      expect(headers.etag === plain.headers.etag).toBe(!isCompressed);
    }
  });

  test('is answered with 304 if the client has it', async () => {
    const { headers } = await sendRequest(path, { 'accept-encoding': 'br' });
    const again = await sendRequest(path, {
      'accept-encoding': 'br',
      'if-none-match': headers.etag,
    });
    expect(again.status).toBe(304);
    expect(again.bytes.length).toBe(0);
    expect(again.headers.etag).toBe(headers.etag);
    expect(again.headers['content-security-policy']).toBe(headers['content-security-policy']);
  });

  test('answers HEAD without a body, and 405 to DELETE', async () => {
    const { headers } = await sendRequest(path);
    const head = await sendRequest(path, {}, 'HEAD');
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect(head.headers['content-length']).toBe(headers['content-length']);
    const refused = await sendRequest(path, {}, 'DELETE');
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the site', () => {
  test.each([
    '/docs/',
    '/Docs',
    '/docs/../openapi.yaml',
    '/docs/%2e%2e/site.ts',
    '/docs/swagger-ui-bundle.js.map',
    '/docs/..%2f..%2fpackage.json',
    '/openapi.yaml',
    '//',
    '/%00',
    '/__proto__',
    '/constructor',
  ])('answers 404 to %s', async (path) => {
    const { status, bytes } = await sendRequest(path);
    expect([status, bytes.toString()]).toEqual([404, '{"error":"Not found"}']);
  });

  test('serves the contract with an absolute address, also to scripts of other origins', async () => {
    const { headers, bytes } = await sendRequest('/openapi.json', { origin: 'https://a.example' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['access-control-allow-origin']).toBe('*');
    const servers = [{ url: 'http://localhost:8080/api/v1' }];
    expect(bytes.toString()).toBe(JSON.stringify({ ...readContract(), servers }));
  });

  test('serves every file of its folder', () => {
    const served = paths.map((path) => path.split('/').at(-1) ?? '');
    const names = { '': 'start.html', docs: 'docs.html' } as Record<string, string>;
    expect(served.map((name) => names[name] ?? name)).toEqual(
      expect.arrayContaining(readdirSync(SITE_FILES)),
    );
  });

  test.each(['start.html', 'docs.html'])(
    'has no inline scripts or styles and no dead links in %s',
    (name) => {
      const html = readFileSync(join(SITE_FILES, name), 'utf8');
      expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
      expect(html).not.toMatch(/<style|<script>|\sstyle=|\son\w+=|javascript:/i);
      const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target);
      expect(targets.length).toBeGreaterThan(4);
      for (const target of targets) expect([...paths, '/account/api-keys']).toContain(target);
    },
  );
});

describe('in a browser', { timeout: 60_000 }, () => {
  let browser: Chromium;

  beforeAll(async () => {
    browser = await startChromium();
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
  });

  let visits: Visits;

  beforeEach(() => {
    visits = makeVisits(browser, proxy.url);
  });

  afterEach(async () => {
    await browser.closeContexts();
  });

  async function open(path: string, { size, colorScheme }: Screen): Promise<Page> {
    const isMobile = size.width < 600;
    const page = await visits.open({ viewport: size, isMobile, colorScheme });
    await page.goto(proxy.url + path);
    return page;
  }

  /** Waits until there are `count` elements, or at least one, visible or not. */
  async function waitFor(page: Page, selector: string, count?: number): Promise<void> {
    const found = expect.poll(() => page.locator(selector).count(), { timeout: LONGEST_WAIT_MS });
    await (count === undefined ? found.toBeGreaterThan(0) : found.toBe(count));
  }

  const paleTexts = (page: Page) =>
    expect.poll(() => page.evaluate(PALE_TEXT), { timeout: 10_000 });

  /** Checks what must be true for every page on every screen. */
  async function expectSound(page: Page, { size, colorScheme }: Screen): Promise<void> {
    expect(await page.locator('h1').count()).toBe(1);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(size.width);
    await paleTexts(page).toEqual([]);
    const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(ground).toBe(colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgb(255, 255, 255)');
    expect(visits.complaints).toEqual([]);
    expect(visits.foreign).toEqual([]);
  }
  test.each(SCREENS)('the start page has a command to paste ($screen)', async (screen) => {
    const page = await open('/', screen);
    expect(await page.locator('pre').first().textContent()).toBe(
      `curl -H 'X-Api-Key: cck_…' \\\n  ${proxy.url}/api/v1/games/snes/chrono-trigger`,
    );
    await expectSound(page, screen);
  });

  test.each(SCREENS)('the reference shows every endpoint ($screen)', async (screen) => {
    const page = await open('/docs#/Search/searchGames', screen);
    const endpoints = Object.keys(readContract().paths as JsonObject).length;
    await waitFor(page, '.opblock', endpoints);
    await waitFor(page, '.opblock.is-open .responses-table');
    const names = await page.evaluate(
      '[...document.querySelectorAll(".is-open tr[data-param-name]")].map((row) => row.dataset.paramName)',
    );
    expect(names).toEqual(
      expect.arrayContaining(['q', 'platform', 'region', 'type', 'genre', 'sort', 'page']),
    );
    // Each click opens one level of the schemas.
    for (const button of ['.tablinks', '.models-control', '.json-schema-2020-12-accordion']) {
      await page.evaluate(
        `for (const each of document.querySelectorAll('${button}')) each.click()`,
      );
      await page.evaluate('new Promise(requestAnimationFrame)');
    }
    await waitFor(page, '.json-schema-2020-12__constraint');
    await expectSound(page, screen);
  });

  // Without a generation a valid key gets 503; any other key would get 401.
  test('the reference sends a key as Bearer, its only scheme', async () => {
    const page = await open('/docs#/Statistics/getStats', SCREENS[0]);
    await page.locator('.auth-wrapper .authorize').click();
    await waitFor(page, '.auth-container form', 1);
    const form = page.locator('.auth-container form');
    expect(await form.locator('h4').textContent()).toMatch(/^bearer/);
    await form.locator('input').fill(key.key);
    await form.locator('button[type=submit]').click();
    await page.locator('.auth-container .btn-done').first().click();
    await page.locator('.is-open .execute').click();
    const answer = page.locator('.live-responses-table');
    await answer.locator('.response').waitFor();
    expect(await answer.textContent()).toContain('503');
    expect(await answer.textContent()).toContain('No snapshot yet');
    const command = await page.locator('.curl').textContent();
    expect(command).toContain('Authorization: Bearer cck_');
    expect(command).toContain(`${proxy.url}/api/v1/stats`);
    await paleTexts(page).toEqual([]);
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
  });
});
