/**
 * The pages outside the API in a real browser, with and without scripts: axe-core finds nothing, nothing is
 * wider than the screen or moves while the page loads, and nothing is loaded from another host or against the
 * content security policy.
 */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openSite } from '../../../../proxy/site/site.ts';
import { makeSampleSnapshots } from '../../../catalogue/snapshots.ts';
import {
  axeFaults,
  type Chromium,
  isTooWide,
  layoutShift,
  makeVisits,
  SCREENS,
  type Screen,
  startChromium,
  type Visits,
} from '../../../support/browser.ts';
import { type JsonObject, readContract } from '../../../support/openapi.ts';
import { type RunningProxy, startProxy, testKey } from '../../../support/product.ts';

const PUBLIC_URL = 'https://api.covers.example';
/** More than this moves visibly (https://web.dev/articles/cls: good is up to 0.1). */
const LARGEST_SHIFT = 0.01;
const [desktop, , , phone] = SCREENS;
const key = testKey(1);

const site = openSite({ publicUrl: PUBLIC_URL, defaultLimit: 120 });
const pages = [
  ...[...site.keys()].filter((page) =>
    String(Buffer.from(site.get(page)?.identity ?? [])).startsWith('<!'),
  ),
  '/status',
  '/no-such-page',
];
/** One guide stands for all: they have the same layout. */
const layouts = pages.filter((page) => !page.startsWith('/docs/') || /paging|reference/.test(page));

let proxy: RunningProxy;
let browser: Chromium;
let visits: Visits;

beforeAll(async () => {
  const snapshotsDir = await makeSampleSnapshots([key]);
  proxy = await startProxy(snapshotsDir, { PUBLIC_URL });
  browser = await startChromium();
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await proxy?.stop();
});

beforeEach(() => {
  visits = makeVisits(browser, proxy.url);
});

afterEach(async () => {
  await browser.closeContexts();
});

async function open({ size, colorScheme }: Screen, javaScriptEnabled = true): Promise<Page> {
  const isMobile = size.width < 600;
  return visits.open({ viewport: size, isMobile, colorScheme, javaScriptEnabled });
}

/** What is wrong with a page that was just loaded. */
async function faultsOf(page: Page): Promise<unknown[]> {
  const shift = await layoutShift(page);
  const faults = await axeFaults(page);
  if (await isTooWide(page)) faults.push('wider than the screen');
  const headings = await page.locator('h1').count();
  if (headings !== 1) faults.push(`${headings} h1`);
  if (shift > LARGEST_SHIFT) faults.push(`moved by ${shift}`);
  return faults;
}

/** A refused page has a status of 4xx, which the browser reports. */
const complaints = () => visits.complaints.filter((text) => !/status of 404/.test(text));

describe('every page', () => {
  test('is sound on a dark phone', async () => {
    const page = await open(phone);
    // With everything in it open, the reference is checked in the soak.
    for (const path of layouts.filter((path) => path !== '/docs/reference')) {
      await page.goto(proxy.url + path);
      expect([path, await faultsOf(page)]).toEqual([path, []]);
    }
    expect(complaints()).toEqual([]);
    expect(visits.foreign).toEqual([]);
  });

  test('is sound without scripts, and shows no control that needs one', async () => {
    const page = await open(phone, false);
    for (const path of layouts) {
      await page.goto(proxy.url + path);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(phone.size.width);
      expect(await page.locator('[data-copy]:visible').count()).toBe(0);
      expect(await page.locator('.needs-script:visible').count()).toBe(0);
    }
    await page.goto(`${proxy.url}/docs/paging`);
    expect(await page.locator('.needs-script').count()).toBe(1);
    await page.getByRole('radio', { name: 'Python' }).first().check();
    expect(await page.locator('pre:visible').first().textContent()).toContain('import json');
    expect(complaints()).toEqual([]);
  });
});

describe('the reference', () => {
  test('shows every operation and object, none of them too tall', async () => {
    const page = await open(desktop);
    await page.goto(`${proxy.url}/docs/reference`);
    const { paths, components } = readContract();
    const operations = Object.values(paths as JsonObject).map(
      (each) => ((each as JsonObject).get as JsonObject).operationId,
    );
    const shown = (await page.evaluate(
      '[...document.querySelectorAll(".operation")].map(({ id, offsetHeight }) => [id, offsetHeight])',
    )) as [string, number][];
    expect(shown.map(([id]) => id).toSorted()).toEqual(operations.toSorted());
    expect(shown.filter(([, height]) => height > 3_000)).toEqual([]);
    const { schemas } = components as { schemas: JsonObject };
    for (const name of ['Game', 'Cover', 'CoverFile', 'Platform', 'Stats', 'Change', 'Manifest']) {
      expect(Object.keys(schemas)).toContain(name);
      expect(await page.getByRole('heading', { name, exact: true }).count()).toBe(1);
    }
    const broken = await page.evaluate(
      '[...document.querySelectorAll("a[href^=\'#\']")].map(({ hash }) => hash.slice(1)).filter((id) => !document.getElementById(id))',
    );
    expect(broken).toEqual([]);
  });

  test('sends a request with the key of the visitor, which stays in the tab', async () => {
    const page = await open(desktop);
    await page.goto(`${proxy.url}/docs/reference`);
    const operation = page.locator('#getGame');
    await operation.getByText('Try it', { exact: true }).click();
    await operation.getByRole('button', { name: 'Send request' }).click();
    expect(await operation.getByRole('status').textContent()).toContain('Enter your API key');
    // As the account pages show a key.
    await page.getByLabel('Your API key').fill(`${key.key.slice(0, 8)}…`);
    await operation.getByRole('button', { name: 'Send request' }).click();
    expect(await operation.getByRole('status').textContent()).toContain('key is not complete');
    await page.getByLabel('Your API key').fill(key.key);
    await operation.getByLabel('include').selectOption('cover');
    await operation.getByRole('button', { name: 'Send request' }).click();
    await operation.getByText('"Chrono Trigger"').last().waitFor();
    expect(await operation.getByRole('status').textContent()).toMatch(
      /^200 OK in \d+ ms · GET \/api\/v1\/games\/snes\/chrono-trigger\?include=cover$/,
    );
    expect(await page.evaluate('[localStorage.length, document.cookie]')).toEqual([0, '']);
    await page.reload();
    expect(await page.getByLabel('Your API key').inputValue()).toBe(key.key);
    await page.goto(`${proxy.url}/docs/reference`);
    await page.locator('#getPlatform').getByText('Try it', { exact: true }).click();
    await page
      .locator('#getPlatform')
      .getByLabel('slug')
      .fill('../../<img src=x onerror=alert(1)>');
    await page.locator('#getPlatform').getByRole('button', { name: 'Send request' }).click();
    await page.locator('#getPlatform').getByText('"error"').waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(visits.complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
    expect(visits.foreign).toEqual([]);
  });
});

test('the search of the docs finds guides, headings and operations', async () => {
  const page = await open(desktop);
  await page.goto(`${proxy.url}/docs`);
  const search = page.getByRole('searchbox', { name: 'Search the docs' });
  await search.fill('retry-after');
  await page.getByRole('link', { name: 'Limits: When you reach the limit' }).waitFor();
  await search.fill('x-snapshot page');
  await page.locator('.docs-results a').first().waitFor();
  await search.fill('zzzz');
  await page.getByText('Nothing found. Try another word.').waitFor();
  await search.fill('recent covers');
  await page.getByRole('link', { name: 'The newest covers' }).click();
  await page.waitForURL('**/docs/reference#listRecentCovers');
  expect(visits.complaints).toEqual([]);
});
