/**
 * The explorer in a real browser: what a first visit loads, what typing costs, that nothing moves, the
 * keyboard, a visitor's own key, and every page on every screen, with and without scripts.
 */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { IS_SOAK } from '../../soak/rounds.ts';
import {
  type Chromium,
  layoutShift,
  look,
  makeVisits,
  screensFor,
  startChromium,
  type Visits,
} from '../../support/browser.ts';
import { type RunningProxy, testKey } from '../../support/product.ts';
import { type Explored, HOSTILE, startAgain, startExplorer } from './explored.ts';

const explorerKey = testKey(1);
const visitorKey = testKey(2);
const smallKey = testKey(3, { limit: 1 });

let browser: Chromium;
let explored: Explored;
let proxy: RunningProxy;
let visits: Visits;
let people = 0;

beforeAll(async () => {
  browser = await startChromium();
  explored = await startExplorer([explorerKey, visitorKey, smallKey], explorerKey.key);
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

const gamesOn = (page: Page) => page.locator('[data-grid] a');
const found = (page: Page) => page.locator('#found');

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

describe('typing', () => {
  /** Types a text, waits for its results, and returns the URLs of pages and of the API that were requested. */
  async function type(page: Page, text: string, delay: number, all = text): Promise<string[]> {
    const requested: string[] = [];
    page.on('request', (request) => {
      if (/\/(?:explore|api)\b/.test(request.url())) requested.push(request.url());
    });
    await page.locator('#q').pressSequentially(text, { delay });
    await found(page)
      .filter({ hasText: `for “${all}”` })
      .waitFor();
    return requested;
  }

  test('shows the best matches, with at most one request per letter, and keeps focus and address', async () => {
    const page = await visits.open();
    await page.goto(`${proxy.url}/explore`);
    const slow = await type(page, 'zelda', 400);
    expect(slow.length).toBeGreaterThan(1);
    expect(slow.length).toBeLessThanOrEqual(5);
    expect((await gamesOn(page).allTextContents()).join()).toContain('The Legend of Zelda');
    expect(await found(page).getAttribute('role')).toBe('status');
    expect(await page.evaluate('document.activeElement.id')).toBe('q');
    expect(new URL(page.url()).search).toBe('?q=zelda');
    expect(await page.title()).toContain('zelda');
    // The address leads to the same page again.
    const shown = await gamesOn(page).allTextContents();
    await page.reload();
    expect(await gamesOn(page).allTextContents()).toEqual(shown);
    expect(await layoutShift(page)).toBe(0);
    expectQuiet();
  });

  test('fast costs one request', async () => {
    const page = await visits.open();
    await page.goto(`${proxy.url}/explore`);
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    // All at once, since a busy machine types slowly.
    await page.evaluate(`for (const letter of 'final fantasy') {
      q.value += letter;
      q.dispatchEvent(new InputEvent('input', { bubbles: true }));
    }`);
    await found(page).filter({ hasText: 'for “final fantasy”' }).waitFor();
    expect(requested.filter((url) => url.includes('/explore?'))).toHaveLength(1);
    expectQuiet();
  });

  test('a letter gives up the search before it', async () => {
    const page = await visits.open();
    await page.goto(`${proxy.url}/explore`);
    const gaveUp: string[] = [];
    page.on('requestfailed', (request) => gaveUp.push(new URL(request.url()).search));
    // Its response never comes.
    await page.route('**/explore?q=mar', () => {});
    await Promise.all([page.waitForRequest('**/explore?q=mar'), page.locator('#q').fill('mar')]);
    await type(page, 'io', 0, 'mario');
    expect(gaveUp).toEqual(['?q=mar']);
    expect(await page.locator('#q').inputValue()).toBe('mario');
    expectQuiet();
  });

  test('keeps the filters and the platform, and the example in the chosen language', async () => {
    const page = await visits.open();
    await page.goto(`${proxy.url}/explore/snes?region=Japan`);
    await page.getByText('Python', { exact: true }).click();
    await type(page, 'chrono', 10);
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toMatch(
      /^\/explore\/snes\?(?=.*q=chrono)(?=.*region=Japan)/,
    );
    expect(await gamesOn(page).count()).toBe(1);
    const shown = page.locator('.sample:visible');
    expect(await shown.count()).toBe(1);
    expect(await shown.textContent()).toContain('urllib.request');
    expect(await shown.textContent()).toContain('q=chrono');
    expect(await shown.getByRole('button').isVisible()).toBe(true);
    expectQuiet();
  });

  test('over the limit says when to go on, and keeps what is there', async () => {
    const small = await startAgain(explored.snapshotsDir, smallKey.key);
    try {
      const page = await visits.open();
      await page.goto(`${small.url}/explore`);
      const shown = await gamesOn(page).count();
      await page.locator('#q').pressSequentially('zelda');
      await found(page).filter({ hasText: 'Try again in' }).waitFor();
      expect(await page.locator('#q').inputValue()).toBe('zelda');
      expect(await gamesOn(page).count()).toBe(shown);
      // The browser reports each 429 in its console.
      expect(visits.complaints).not.toEqual([]);
      for (const complaint of visits.complaints) expect(complaint).toContain('429');
    } finally {
      await small.stop();
    }
  });

  test('never shows markup in what was typed as markup', async () => {
    const page = await visits.open();
    await page.goto(`${proxy.url}/explore`);
    await type(page, '<img src=x onerror=alert(1)>', 5);
    expect(await page.locator('main img[src="x"]').count()).toBe(0);
    expectQuiet();
  });
});

test('the keyboard: / searches, arrows move between games, Enter opens one, Escape clears', async () => {
  const page = await visits.open();
  await page.goto(`${proxy.url}/explore?q=mario`);
  const focused = () => page.evaluate('document.activeElement.href ?? document.activeElement.id');
  const links = await gamesOn(page).evaluateAll((all) => all.map((each) => String(each)));
  await page.keyboard.press('/');
  expect(await focused()).toBe('q');
  expect(await page.locator('#q').inputValue()).toBe('mario');
  await page.keyboard.press('ArrowDown');
  expect(await focused()).toBe(links[0]);
  await page.keyboard.press('ArrowRight');
  expect(await focused()).toBe(links[1]);
  const tops = await gamesOn(page).evaluateAll((all) =>
    all.map((each) => Math.round((each as unknown as { offsetTop: number }).offsetTop)),
  );
  const columns = tops.filter((top) => top === tops[0]).length;
  await page.keyboard.press('ArrowDown');
  expect(await focused()).toBe(links[1 + columns]);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  expect(await focused()).toBe('q');
  await page.keyboard.press('Escape');
  await found(page).filter({ hasNotText: 'mario' }).waitFor();
  expect(await page.locator('#q').inputValue()).toBe('');
  expect(new URL(page.url()).search).toBe('');
  await page.keyboard.press('ArrowDown');
  const first = await focused();
  await page.keyboard.press('Enter');
  await page.waitForURL(String(first));
  expectQuiet();
});

describe('without EXPLORER_KEY', () => {
  let keyless: RunningProxy;

  beforeAll(async () => {
    keyless = await startAgain(explored.snapshotsDir, '');
  });

  afterAll(async () => {
    await keyless?.stop();
  });

  test('the key of the visitor opens every page in its tab, and is kept nowhere else', async () => {
    visits = makeVisits(browser, keyless.url);
    const page = await visits.open();
    await page.goto(`${keyless.url}/explore?q=zelda`);
    await look(page);
    await page.getByLabel('API key').fill(testKey(9).key);
    await page.getByRole('button', { name: 'Open the explorer' }).click();
    await page.getByRole('alert').waitFor();
    // The browser reports the 401 in its console.
    expect(visits.complaints).toHaveLength(1);
    await page.getByLabel('API key').fill(visitorKey.key);
    await page.getByRole('button', { name: 'Open the explorer' }).click();
    await found(page).filter({ hasText: 'zelda' }).waitFor();
    await gamesOn(page).first().click();
    await page.locator('.crumbs').waitFor();
    expect(await page.content()).not.toContain(visitorKey.key);
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    expect(page.url()).not.toContain('cck_');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByLabel('API key').waitFor();
    await page.getByRole('button', { name: 'Forget my key' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    expect(visits.complaints).toHaveLength(1);
  });

  test('a key that cannot be sent, or a lost connection, leaves the form and says what is wrong', async () => {
    visits = makeVisits(browser, keyless.url);
    const page = await visits.open();
    await page.goto(`${keyless.url}/explore`);
    const input = page.getByLabel('API key');
    const open = page.getByRole('button', { name: 'Open the explorer' });
    // As the account pages show a key.
    await input.fill(`${visitorKey.key.slice(0, 8)}…`);
    await open.click();
    await page.getByText('This key was not accepted').waitFor();
    await page.reload();
    await input.waitFor();
    expect(visits.complaints).toEqual([]);
    const explore = '**/explore';
    await page.route(explore, (route) => route.abort());
    await input.fill(visitorKey.key);
    await open.click();
    await page.getByText('Check your connection, then try again').waitFor();
    await page.unroute(explore);
    await open.click();
    await gamesOn(page).first().waitFor();
  });

  test('the key that was entered in the reference is used here, too', async () => {
    visits = makeVisits(browser, keyless.url);
    const page = await visits.open();
    await page.goto(`${keyless.url}/docs/reference`);
    await page.getByLabel('Your API key').fill(visitorKey.key);
    await page.goto(`${keyless.url}/explore`);
    await gamesOn(page).first().waitFor();
    expect(visits.complaints).toEqual([]);
  });

  test('the page says that it needs scripts', async () => {
    const page = await visits.open({ javaScriptEnabled: false });
    await page.goto(`${keyless.url}/explore`);
    expect(await page.locator('main').textContent()).toContain('must allow JavaScript');
    expect(await page.getByLabel('API key').isVisible()).toBe(false);
  });
});

test('with EXPLORER_KEY, a wrong key of the visitor does not stop the search', async () => {
  const page = await visits.open();
  for (const key of [testKey(9).key, `${visitorKey.key.slice(0, 8)}…`]) {
    await page.goto(`${proxy.url}/docs/reference`);
    await page.getByLabel('Your API key').fill(key);
    await page.goto(`${proxy.url}/explore`);
    await page.locator('#q').fill('zelda');
    await found(page).filter({ hasText: 'for “zelda”' }).waitFor();
  }
  // The browser reports the 401 in its console. The second key cannot be sent.
  expect(visits.complaints).toHaveLength(1);
});

test('without scripts, the way from the start page to a cover', async () => {
  const page = await visits.open({ javaScriptEnabled: false });
  await page.goto(proxy.url);
  await page.getByLabel('Search games by title').fill('chrono');
  await page.getByLabel('Search games by title').press('Enter');
  await found(page).filter({ hasText: 'chrono' }).waitFor();
  await page.getByLabel('Filters', { exact: true }).getByText('Super Nintendo').click();
  await gamesOn(page).first().click();
  await page.getByText('JavaScript', { exact: true }).click();
  expect(await page.locator('.sample:visible').textContent()).toContain('await fetch(');
  await gamesOn(page).first().click();
  await page.getByText('Files', { exact: true }).waitFor();
  expect(await page.locator('.large-art img').count()).toBe(1);
  expect(await page.locator('button:visible').count()).toBe(0);
  expectQuiet();
});

describe('no part is too wide and axe-core finds nothing', () => {
  const { platform, slug, cover } = HOSTILE;
  const pages: [name: string, path: string][] = [
    ['explore-search', '/explore?q=final+fantasy&region=Japan'],
    ['explore-nothing', '/explore/snes?q=no+such+game+anywhere'],
    ['explore-hostile-platform', `/explore/${platform}`],
    ['explore-hostile-game', `/explore/${platform}/${slug}`],
    ['explore-hostile-cover', `/explore/${platform}/${slug}/${cover}`],
  ];
  /** These consist of the same parts as the pages above. */
  const similar: [name: string, path: string][] = [
    ['explore', '/explore'],
    ['explore-platform', '/explore/ps1'],
    ['explore-game', '/explore/snes/chrono-trigger'],
    ['explore-cover', '/explore/snes/chrono-trigger/50001'],
  ];
  // With SOAK=1, each page on every screen; otherwise one page on two screens, and the others on one.
  test.each(IS_SOAK ? [...pages, ...similar] : pages)('%s', async (name, path) => {
    const page = await visits.open();
    await page.goto(proxy.url + path);
    await scrollThrough(page);
    const hasScreenshots = IS_SOAK || name === 'explore-search';
    await look(page, hasScreenshots ? name : undefined, screensFor(IS_SOAK));
    expectQuiet();
  });
});
