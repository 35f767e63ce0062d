/**
 * The pages outside the API in a real browser, on a desktop and a phone, light and dark: axe-core finds nothing,
 * nothing is wider than the screen or moves while the page loads, and
 * nothing is loaded from another host or against the content security policy.
 */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openSite } from '../../../../proxy/site/site.ts';
import { makeSampleSnapshots } from '../../../catalogue/snapshots.ts';
import {
  axeFaults,
  type Chromium,
  isTooWide,
  keepScreenshot,
  layoutShift,
  makeVisits,
  SCREENS,
  type Screen,
  screensFor,
  startChromium,
  type Visits,
} from '../../../support/browser.ts';
import { type RunningProxy, startProxy, testKey } from '../../../support/product.ts';
import { IS_FULL } from '../../rounds.ts';

const PUBLIC_URL = 'https://api.covers.example';
/** More than this moves visibly (https://web.dev/articles/cls: good is up to 0.1). */
const LARGEST_SHIFT = 0.01;
const [, , , phone] = SCREENS;
const key = testKey(1);

const site = openSite({ publicUrl: PUBLIC_URL, defaultLimit: 120 });
const pages = [
  ...[...site.keys()].filter((page) =>
    String(Buffer.from(site.get(page)?.identity ?? [])).startsWith('<!'),
  ),
  '/status',
  '/no-such-page',
];
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

test.each(screensFor(IS_FULL))('every page is sound ($screen)', async (screen) => {
  const page = await open(screen);
  for (const path of pages) {
    await page.goto(proxy.url + path);
    expect([path, await faultsOf(page)]).toEqual([path, []]);
    await keepScreenshot(page, `site${path.replaceAll('/', '-')}-${screen.screen}`);
  }
  expect(complaints()).toEqual([]);
  expect(visits.foreign).toEqual([]);
});

test('the reference has no fault when everything in it is open', async () => {
  const page = await open(phone);
  await page.goto(`${proxy.url}/docs/reference`);
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
  expect(await faultsOf(page)).toEqual([]);
});
