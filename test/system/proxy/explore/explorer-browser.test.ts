/**
 * The explorer in a real browser: what typing costs, a visitor's own key, images, and the
 * pages with and without scripts.
 */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { HOSTILE, startAgain } from '../../../proxy/explore/explored.ts';
import { visitExplorer } from '../../../proxy/explore/visited-explorer.ts';
import { look } from '../../../support/browser.ts';
import { type RunningProxy, testKey } from '../../../support/product.ts';

const explorerKey = testKey(1);
const visitorKey = testKey(2);
const smallKey = testKey(3, { limit: 1 });

const explorer = visitExplorer([explorerKey, visitorKey, smallKey], explorerKey.key);

const gamesOn = (page: Page) => page.locator('.grid a');
const found = (page: Page) => page.locator('#found');

describe('typing', () => {
  const foundFor = (page: Page, text: string) =>
    found(page)
      .filter({ hasText: `for “${text}”` })
      .waitFor();

  /** The URLs of pages and of the API that are requested from now on. */
  function requestsOf(page: Page): readonly string[] {
    const requested: string[] = [];
    page.on('request', (request) => {
      if (/\/(?:explore|api)\b/.test(request.url())) requested.push(request.url());
    });
    return requested;
  }

  test('shows the best matches, with one request per letter, and keeps focus and address', async () => {
    const page = await explorer.open();
    await page.goto(`${explorer.url()}/explore`);
    const requested = requestsOf(page);
    for (const [i, letter] of [...'zelda'].entries()) {
      await page.locator('#q').press(letter);
      await foundFor(page, 'zelda'.slice(0, i + 1));
    }
    expect(requested).toHaveLength(5);
    expect((await gamesOn(page).allTextContents()).join()).toContain('The Legend of Zelda');
    expect(await found(page).getAttribute('role')).toBe('status');
    expect(await page.evaluate('document.activeElement.id')).toBe('q');
    expect(new URL(page.url()).search).toBe('?q=zelda');
    expect(await page.title()).toContain('zelda');
    // The address leads to the same page again.
    const shown = await gamesOn(page).allTextContents();
    await page.reload();
    expect(await gamesOn(page).allTextContents()).toEqual(shown);
    explorer.expectQuiet();
  });

  test('fast costs one request', async () => {
    const page = await explorer.open();
    await page.goto(`${explorer.url()}/explore`);
    const requested = requestsOf(page);
    // All at once, since a busy machine types slowly.
    await page.evaluate(`for (const letter of 'final fantasy') {
      q.value += letter;
      q.dispatchEvent(new InputEvent('input', { bubbles: true }));
    }`);
    await foundFor(page, 'final fantasy');
    expect(requested).toHaveLength(1);
    explorer.expectQuiet();
  });

  test('a letter gives up the search before it', async () => {
    const page = await explorer.open();
    await page.goto(`${explorer.url()}/explore`);
    const gaveUp: string[] = [];
    page.on('requestfailed', (request) => gaveUp.push(new URL(request.url()).search));
    // Its response never comes.
    await page.route('**/explore?q=mar', () => {});
    await Promise.all([page.waitForRequest('**/explore?q=mar'), page.locator('#q').fill('mar')]);
    await page.locator('#q').fill('mario');
    await foundFor(page, 'mario');
    expect(gaveUp).toEqual(['?q=mar']);
    expect(await page.locator('#q').inputValue()).toBe('mario');
    explorer.expectQuiet();
  });

  test('keeps the filters and the platform, and the example in the chosen language', async () => {
    const page = await explorer.open();
    await page.goto(`${explorer.url()}/explore/snes?region=Japan`);
    await page.getByText('Python', { exact: true }).click();
    await page.locator('#q').fill('chrono');
    await foundFor(page, 'chrono');
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toMatch(
      /^\/explore\/snes\?(?=.*q=chrono)(?=.*region=Japan)/,
    );
    expect(await gamesOn(page).count()).toBe(1);
    const shown = page.locator('.sample:visible');
    expect(await shown.count()).toBe(1);
    expect(await shown.textContent()).toContain('urllib.request');
    expect(await shown.textContent()).toContain('q=chrono');
    expect(await shown.getByRole('button').isVisible()).toBe(true);
    explorer.expectQuiet();
  });

  test('over the limit says when to go on, and keeps what is there', async () => {
    const small = await startAgain(explorer.site().snapshotsDir, smallKey.key);
    const page = await explorer.open();
    await page.goto(`${small.url}/explore`);
    const shown = await gamesOn(page).count();
    await page.locator('#q').pressSequentially('zelda');
    await found(page).filter({ hasText: 'Try again in' }).waitFor();
    expect(await page.locator('#q').inputValue()).toBe('zelda');
    expect(await gamesOn(page).count()).toBe(shown);
    // The browser reports each 429 in its console.
    expect(explorer.complaints()).not.toEqual([]);
    for (const complaint of explorer.complaints()) expect(complaint).toContain('429');
  });
});

describe('without EXPLORER_KEY', () => {
  let keyless: RunningProxy;

  beforeAll(async () => {
    keyless = await startAgain(explorer.site().snapshotsDir, '');
  });

  test('the key of the visitor opens every page in its tab, and is kept nowhere else', async () => {
    explorer.visit(keyless.url);
    const page = await explorer.open();
    await page.goto(`${keyless.url}/explore?q=zelda`);
    await look(page);
    await page.getByLabel('API key').fill(testKey(9).key);
    await page.getByRole('button', { name: 'Open the explorer' }).click();
    await page.getByRole('alert').waitFor();
    // The browser reports the 401 in its console.
    expect(explorer.complaints()).toHaveLength(1);
    await page.getByLabel('API key').fill(visitorKey.key);
    await page.getByRole('button', { name: 'Open the explorer' }).click();
    await found(page).filter({ hasText: 'zelda' }).waitFor();
    await gamesOn(page).first().click();
    await page.getByLabel('You are here').waitFor();
    expect(await page.content()).not.toContain(visitorKey.key);
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    expect(page.url()).not.toContain('cck_');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByLabel('API key').waitFor();
    await page.getByRole('button', { name: 'Forget my key' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    expect(explorer.complaints()).toHaveLength(1);
  });

  test('a key that cannot be sent, or a lost connection, leaves the form and says what is wrong', async () => {
    explorer.visit(keyless.url);
    const page = await explorer.open();
    await page.goto(`${keyless.url}/explore`);
    const input = page.getByLabel('API key');
    const open = page.getByRole('button', { name: 'Open the explorer' });
    // As the account pages show a key.
    await input.fill(`${visitorKey.key.slice(0, 8)}…`);
    await open.click();
    await page.getByText('This key was not accepted').waitFor();
    await page.reload();
    await input.waitFor();
    expect(explorer.complaints()).toEqual([]);
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
    explorer.visit(keyless.url);
    const page = await explorer.open();
    await page.goto(`${keyless.url}/docs/reference`);
    await page.getByLabel('Your API key').fill(visitorKey.key);
    await page.goto(`${keyless.url}/explore`);
    await gamesOn(page).first().waitFor();
    expect(explorer.complaints()).toEqual([]);
  });

  test('the page says that it needs scripts', async () => {
    const page = await explorer.open({ javaScriptEnabled: false });
    await page.goto(`${keyless.url}/explore`);
    expect(await page.locator('main').textContent()).toContain('must allow JavaScript');
    expect(await page.getByLabel('API key').isVisible()).toBe(false);
  });
});

test('with EXPLORER_KEY, a wrong key of the visitor does not stop the search', async () => {
  const page = await explorer.open();
  for (const key of [testKey(9).key, `${visitorKey.key.slice(0, 8)}…`]) {
    await page.goto(`${explorer.url()}/docs/reference`);
    await page.getByLabel('Your API key').fill(key);
    await page.goto(`${explorer.url()}/explore`);
    await page.locator('#q').fill('zelda');
    await found(page).filter({ hasText: 'for “zelda”' }).waitFor();
  }
  // The browser reports the 401 in its console. The second key cannot be sent.
  expect(explorer.complaints()).toHaveLength(1);
});

test('without scripts, the way from the start page to a cover', async () => {
  const page = await explorer.open({ javaScriptEnabled: false });
  await page.goto(explorer.url());
  await page.getByLabel('Search games by title').fill('chrono');
  await page.getByLabel('Search games by title').press('Enter');
  await found(page).filter({ hasText: 'chrono' }).waitFor();
  await page.getByLabel('Filters', { exact: true }).getByText('Super Nintendo').click();
  await gamesOn(page).first().click();
  await page.getByText('JavaScript', { exact: true }).click();
  expect(await page.locator('.sample:visible').textContent()).toContain('await fetch(');
  await gamesOn(page).first().click();
  await page.getByText('Files', { exact: true }).waitFor();
  expect(await page.locator('.columns > .art img').count()).toBe(1);
  expect(await page.locator('button:visible').count()).toBe(0);
  explorer.expectQuiet();
});

describe('no part is too wide, no image is broken, and axe-core finds nothing', () => {
  const { platform, slug, cover } = HOSTILE;
  test.each([
    '/explore?q=final+fantasy&region=Japan',
    `/explore/${platform}/${slug}`,
    `/explore/${platform}/${slug}/${cover}`,
  ])('%s', async (path) => {
    const page = await explorer.open();
    await page.goto(explorer.url() + path);
    const images = page.locator('main img');
    expect(await images.count()).toBeGreaterThan(0);
    for (const image of await images.all()) await image.scrollIntoViewIfNeeded();
    await page.waitForLoadState('networkidle');
    const broken = '[...document.images].filter((i) => i.naturalWidth === 0).map((i) => i.src)';
    expect(await page.evaluate(broken)).toEqual([]);
    await look(page);
    explorer.expectQuiet();
  });
});
