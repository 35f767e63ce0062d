/**
 * The pages outside the base, served by the real proxy and looked at with a real browser: their
 * headers, that they need nothing from elsewhere, that they can be read and used.
 */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSite } from '../proxy/site.ts';
import { type Browser, type Looks, type Page, startBrowser } from './browser.ts';
import { readContract } from './openapi.ts';
import { makeFolder, type RunningProxy, startProxy, testKey, writeKeys } from './product.ts';

const SITE_FILES = join(import.meta.dirname, '../proxy/site');
const PALE_TEXT = readFileSync(join(import.meta.dirname, 'pale-text.js'), 'utf8');
const paths = [...openSite().keys()];
const key = testKey(1);

let proxy: RunningProxy;

beforeAll(async () => {
  // Without a generation: pages are there before the first one is.
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

/** A request whose path reaches the server as it is written here. */
async function ask(path: string, headers = {}, method = 'GET'): Promise<Answer> {
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
  test('comes without a key and with the headers of a page', async () => {
    const { status, headers, bytes } = await ask(path);
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

  test('is the same in every content coding, each with a tag of its own', async () => {
    const plain = await ask(path);
    const decoders = { gzip: gunzipSync, br: brotliDecompressSync };
    for (const coding of ['gzip', 'br'] as const) {
      const { headers, bytes } = await ask(path, { 'accept-encoding': coding });
      const isCompressed = plain.bytes.length >= 1024;
      expect(headers['content-encoding']).toBe(isCompressed ? coding : undefined);
      const decoded = isCompressed ? decoders[coding](bytes) : bytes;
      expect(decoded.equals(plain.bytes)).toBe(true);
      expect(headers.etag === plain.headers.etag).toBe(!isCompressed);
    }
  });

  test('is not sent again to whoever has it', async () => {
    const { headers } = await ask(path, { 'accept-encoding': 'br' });
    const again = await ask(path, { 'accept-encoding': 'br', 'if-none-match': headers.etag });
    expect(again.status).toBe(304);
    expect(again.bytes.length).toBe(0);
    expect(again.headers.etag).toBe(headers.etag);
    expect(again.headers['content-security-policy']).toBe(headers['content-security-policy']);
  });

  test('answers HEAD without the body and refuses to be changed', async () => {
    const { headers } = await ask(path);
    const head = await ask(path, {}, 'HEAD');
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect(head.headers['content-length']).toBe(headers['content-length']);
    const refused = await ask(path, {}, 'DELETE');
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the pages together', () => {
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
  ])('leave nothing else to be found: %s', async (path) => {
    const { status, bytes } = await ask(path);
    expect([status, bytes.toString()]).toEqual([404, '{"error":"Not found"}']);
  });

  test('hand out the contract as it stands in the file, to scripts of any origin', async () => {
    const { headers, bytes } = await ask('/openapi.json', { origin: 'https://a.example' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(JSON.parse(bytes.toString())).toEqual(readContract());
    expect(bytes.toString()).toBe(JSON.stringify(readContract()));
  });

  test('are all of the files beside them', () => {
    const served = paths.map((path) => path.split('/').at(-1) ?? '');
    const names = { '': 'start.html', docs: 'docs.html' } as Record<string, string>;
    expect(served.map((name) => names[name] ?? name)).toEqual(
      expect.arrayContaining(readdirSync(SITE_FILES)),
    );
  });

  test.each(['start.html', 'docs.html'])('hold nothing inline and no dead link: %s', (name) => {
    const html = readFileSync(join(SITE_FILES, name), 'utf8');
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(html).not.toMatch(/<style|<script>|\sstyle=|\son\w+=|javascript:/i);
    const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target);
    expect(targets.length).toBeGreaterThan(4);
    for (const target of targets) expect([...paths, '/account/api-keys']).toContain(target);
  });
});

describe('in a browser', { timeout: 60_000 }, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
  });

  const LOOKS: Looks[] = [
    { colorScheme: 'light', width: 1280, height: 900 },
    { colorScheme: 'dark', width: 1280, height: 900 },
    { colorScheme: 'light', width: 360, height: 740 },
    { colorScheme: 'dark', width: 360, height: 740 },
  ];

  /** What holds for every page, however it is looked at. */
  async function expectSound(page: Page, { width, colorScheme }: Looks): Promise<void> {
    expect(await page.evaluate('document.querySelectorAll("h1").length')).toBe(1);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await expect.poll(() => page.evaluate(PALE_TEXT), { timeout: 10_000 }).toEqual([]);
    const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(ground).toBe(colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgb(255, 255, 255)');
    expect(page.complaints).toEqual([]);
    const foreign = page.requests.filter(
      (url) => !/^data:/.test(url) && !url.startsWith(proxy.url),
    );
    expect(foreign).toEqual([]);
  }

  test.each(LOOKS)(
    'the start page has a command to paste ($colorScheme, $width px)',
    async (looks) => {
      const page = await browser.open(`${proxy.url}/`, looks);
      await page.until('document.readyState === "complete"');
      const command = await page.evaluate('document.querySelector("pre").textContent');
      expect(command).toBe(
        `curl -H 'X-Api-Key: cck_…' \\\n  ${proxy.url}/api/v1/games/snes/chrono-trigger`,
      );
      await expectSound(page, looks);
      await page.close();
    },
  );

  test.each(LOOKS)(
    'the reference shows every endpoint ($colorScheme, $width px)',
    async (looks) => {
      const page = await browser.open(`${proxy.url}/docs#/Search/searchGames`, looks);
      await page.until('document.querySelectorAll(".opblock").length === 9');
      await page.until('document.querySelector(".opblock.is-open .responses-table")');
      const names = await page.evaluate(
        '[...document.querySelectorAll(".is-open tr[data-param-name]")].map((row) => row.dataset.paramName)',
      );
      expect(names).toEqual(
        expect.arrayContaining(['q', 'platform', 'region', 'type', 'genre', 'sort', 'page']),
      );
      // Schemas unfold a level at a time.
      for (const button of ['.tablinks', '.models-control', '.json-schema-2020-12-accordion']) {
        await page.evaluate(
          `for (const each of document.querySelectorAll('${button}')) each.click()`,
        );
        await page.evaluate('new Promise(requestAnimationFrame)');
      }
      await page.until('document.querySelector(".json-schema-2020-12__constraint")');
      await expectSound(page, looks);
      await page.close();
    },
  );

  // The answer to a good key is 503 here, for there is no generation; to any other it would be 401.
  test.each([
    ['apiKey', 'X-Api-Key'],
    ['bearer', 'Authorization'],
  ])('the reference sends a key as %s', async (scheme, header) => {
    const page = await browser.open(`${proxy.url}/docs#/Statistics/getStats`, LOOKS[0] as Looks);
    await page.until('document.querySelector(".opblock.is-open .execute")');
    await page.evaluate('document.querySelector(".auth-wrapper .authorize").click()');
    await page.until('document.querySelectorAll(".auth-container form").length === 2');
    await page.evaluate(`{
      const form = [...document.querySelectorAll('.auth-container form')].find((candidate) =>
        candidate.querySelector('h4').textContent.startsWith('${scheme}'));
      const input = form.querySelector('input');
      // React hears of a value only through the setter that it does not know.
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, '${key.key}');
      input.dispatchEvent(new Event('input', { bubbles: true }));
      form.querySelector('button[type=submit]').click();
    }`);
    await page.until('document.querySelector(".auth-container .btn-done") !== null');
    await page.evaluate('document.querySelector(".auth-container .btn-done").click()');
    await page.evaluate('document.querySelector(".is-open .execute").click()');
    await page.until('document.querySelector(".live-responses-table .response")');
    const shown = await page.evaluate(
      'document.querySelector(".live-responses-table").textContent',
    );
    expect(shown).toContain('503');
    expect(shown).toContain('No snapshot yet');
    const command = await page.evaluate('document.querySelector(".curl").textContent');
    expect(command).toContain(header);
    expect(command).toContain(`${proxy.url}/api/v1/stats`);
    await expect.poll(() => page.evaluate(PALE_TEXT), { timeout: 10_000 }).toEqual([]);
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
    await page.close();
  });
});
