/** The explorer in a real browser: what typing costs, images, and the pages with and without scripts. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { HOSTILE, startAgain } from '#test/site/explore/explored.ts';
import { visitExplorer } from '#test/site/explore/visited-explorer.ts';
import { look } from '#test/support/browser.ts';
import { testKey } from '#test/support/product.ts';

const explorerKey = testKey(1);
const smallKey = testKey(3, { limit: 1 });

const explorer = await visitExplorer([explorerKey, smallKey], explorerKey.key);

const gamesOn = (page: Page) => page.locator('.grid a');
const found = (page: Page) => page.locator('#found');

test('a long title is cut on a card', async () => {
  const page = await explorer.open();
  await page.goto(`${explorer.url}/explore/${HOSTILE.platform}`);
  const [shown, whole, line] = (await page.evaluate(`(() => {
    const title = document.querySelector('.grid a > strong');
    return [title.clientHeight, title.scrollHeight, parseFloat(getComputedStyle(title).lineHeight)];
  })()`)) as [number, number, number];
  expect(whole).toBeGreaterThan(shown);
  expect(Math.round(shown / line)).toBe(3);
});

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
    await page.goto(`${explorer.url}/explore`);
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
    await page.goto(`${explorer.url}/explore`);
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
    await page.goto(`${explorer.url}/explore`);
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
    await page.goto(`${explorer.url}/explore/snes?region=Japan`);
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
    expect(await shown.textContent()).toContain('"q": "chrono"');
    expect(await shown.getByRole('button').isVisible()).toBe(true);
    explorer.expectQuiet();
  });

  test('over the limit says when to go on, and keeps what is there', async () => {
    const small = await startAgain(explorer.snapshotsDir, smallKey.key);
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

test('without EXPLORER_KEY, the page that says so is sound', async () => {
  const keyless = await startAgain(explorer.snapshotsDir, '');
  const page = await explorer.open();
  await page.goto(`${keyless.url}/explore?q=zelda`);
  await look(page);
  await page.getByRole('main').getByRole('link', { name: 'Read the docs' }).click();
  await page.waitForURL('**/docs');
});

test('without scripts, the way from the start page to a cover', async () => {
  const page = await explorer.open({ javaScriptEnabled: false });
  await page.goto(explorer.url);
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
