/** The explorer in a real browser: what a first visit loads, that nothing moves, and every page on every screen. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { HOSTILE } from '#test/site/explore/explored.ts';
import { visitExplorer } from '#test/site/explore/visited-explorer.ts';
import { layoutShift, look } from '#test/support/browser.ts';
import { testKey } from '#test/support/product.ts';

const explorerKey = testKey(1);

const explorer = await visitExplorer([explorerKey], explorerKey.key);

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

describe('a first visit', () => {
  test('loads less than 100 kB, images of the first screen included, and nothing moves', async () => {
    const page = await explorer.open();
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
    await page.route(`${explorer.images}/**`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    await page.goto(`${explorer.url}/explore`, { waitUntil: 'load' });
    const { Image: images = 0, ...others } = sizes;
    const ofPage = Object.values(others).reduce((sum, size) => sum + size, 0);
    process.stderr.write(`A first visit loads ${JSON.stringify(sizes)} bytes.\n`);
    expect(ofPage).toBeGreaterThan(5_000);
    expect(ofPage).toBeLessThan(40_000);
    expect(ofPage + images).toBeLessThan(100_000);
    await scrollThrough(page);
    expect(await layoutShift(page)).toBe(0);
    explorer.expectQuiet();
  });
});

test.each(['#sort', '#q', '.site-name'])(
  'what arrives after %s does not move it, if the browser draws the page before its end is there',
  async (selector) => {
    const page = await explorer.open();
    await page.goto(`${explorer.url}/explore`);
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

describe('no part is too wide, no image is broken, and axe-core finds nothing', () => {
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
    const page = await explorer.open();
    await page.goto(explorer.url + path);
    await scrollThrough(page);
    const widths = (await page.evaluate(
      '[...document.images].map((i) => i.naturalWidth)',
    )) as number[];
    expect(widths.length).toBeGreaterThan(0);
    expect(widths).not.toContain(0);
    await look(page, name);
    explorer.expectQuiet();
  });
});
