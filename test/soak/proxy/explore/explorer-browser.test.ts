/** The explorer in a real browser: what a first visit loads, that nothing moves, and every page on every screen. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Explored, HOSTILE, startExplorer } from '../../../proxy/explore/explored.ts';
import {
  type Chromium,
  layoutShift,
  look,
  makeVisits,
  startChromium,
  type Visits,
} from '../../../support/browser.ts';
import { type RunningProxy, testKey } from '../../../support/product.ts';

const explorerKey = testKey(1);

let browser: Chromium;
let explored: Explored;
let proxy: RunningProxy;
let visits: Visits;
let people = 0;

beforeAll(async () => {
  browser = await startChromium();
  explored = await startExplorer([explorerKey], explorerKey.key);
  ({ proxy } = explored);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await proxy?.stop();
});

beforeEach(() => {
  const all = makeVisits(browser, proxy.url);
  // As another person each time, since one may open only some pages a minute.
  const person = () => ({ 'X-Forwarded-For': `10.0.0.${++people}` });
  visits = { ...all, open: (options) => all.open({ extraHTTPHeaders: person(), ...options }) };
});

afterEach(async () => {
  await browser.closeContexts();
});

/** No error, no violation of the policy, and no request to other hosts but that of the images. */
function expectQuiet(): void {
  expect(visits.complaints).toEqual([]);
  expect(visits.foreign.filter((url) => !url.startsWith(explored.images))).toEqual([]);
}

/** Shows every part of the page once, so that every image is loaded, and waits for them. */
async function scrollThrough(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += innerHeight / 2) {
      scrollTo(0, y);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    scrollTo(0, 0);
    // Not "waitForFunction": while it waits, it evaluates its text in the page, which the policy forbids.
    const loading = [...document.images].filter(({ complete }) => !complete);
    await Promise.all(
      loading.map((image) => new Promise((end) => { image.onload = image.onerror = end; })),
    );
  })()`);
}

const brokenImages = (page: Page) =>
  page.evaluate('[...document.images].filter((i) => i.naturalWidth === 0).map((i) => i.src)');

describe('a first visit', () => {
  test('loads less than 100 kB, images of the first screen included, and nothing moves', async () => {
    const page = await visits.open();
    const sizes: Record<string, number> = {};
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    const types = new Map<string, string>();
    session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type));
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const type = types.get(requestId) ?? 'Other';
      sizes[type] = (sizes[type] ?? 0) + encodedDataLength;
    });
    // Slow images show whether the page leaves room for them.
    await page.route(`${explored.images}/**`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    await page.goto(`${proxy.url}/explore`, { waitUntil: 'load' });
    const { Image: images = 0, ...others } = sizes;
    const ofPage = Object.values(others).reduce((sum, size) => sum + size, 0);
    process.stderr.write(`A first visit loads ${JSON.stringify(sizes)} bytes.\n`);
    expect(ofPage).toBeGreaterThan(5_000);
    expect(ofPage).toBeLessThan(40_000);
    expect(ofPage + images).toBeLessThan(100_000);
    await scrollThrough(page);
    expect(await layoutShift(page)).toBe(0);
    expectQuiet();
  });

  test.each(['/explore', '/explore/snes/chrono-trigger', '/explore/snes/chrono-trigger/50001'])(
    'no image of %s is broken',
    async (path) => {
      const page = await visits.open();
      await page.goto(proxy.url + path);
      await scrollThrough(page);
      expect(await page.locator('main img').count()).toBeGreaterThan(0);
      expect(await brokenImages(page)).toEqual([]);
      expect(await layoutShift(page)).toBe(0);
      expectQuiet();
    },
  );
});

test.each(['#sort', '#q', '.site-name'])(
  'what arrives after %s does not move it, if the browser draws the page before its end is there',
  async (selector) => {
    const page = await visits.open();
    await page.goto(`${proxy.url}/explore`);
    const [whole, begun] = (await page.evaluate(`(() => {
      const element = document.querySelector('${selector}');
      const position = () => {
        const { x, y } = element.getBoundingClientRect();
        return [x, y];
      };
      const whole = position();
      for (let at = element; at !== document.body; at = at.parentElement) {
        while (at.nextSibling !== null) at.nextSibling.remove();
      }
      return [whole, position()];
    })()`)) as [number[], number[]];
    expect(begun).toEqual(whole);
  },
);

describe('no part is too wide and axe-core finds nothing', () => {
  const { platform, slug, cover } = HOSTILE;
  const pages: [name: string, path: string][] = [
    ['explore-search', '/explore?q=final+fantasy&region=Japan'],
    ['explore-nothing', '/explore/snes?q=no+such+game+anywhere'],
    ['explore-hostile-platform', `/explore/${platform}`],
    ['explore-hostile-game', `/explore/${platform}/${slug}`],
    ['explore-hostile-cover', `/explore/${platform}/${slug}/${cover}`],
    ['explore', '/explore'],
    ['explore-platform', '/explore/ps1'],
    ['explore-game', '/explore/snes/chrono-trigger'],
    ['explore-cover', '/explore/snes/chrono-trigger/50001'],
  ];
  test.each(pages)('%s', async (name, path) => {
    const page = await visits.open();
    await page.goto(proxy.url + path);
    await scrollThrough(page);
    await look(page, name);
    expectQuiet();
  });
});
