/**
 * The pages outside the API in a real browser: without scripts, and the reference. Nothing is loaded from
 * another host or against the content security policy. The soak has every page on every screen.
 */
import { describe, expect, test } from 'vitest';
import { PAGES, visitSite } from '#test/site/visited-site.ts';
import { SCREENS } from '#test/support/browser.ts';
import { type JsonObject, readContract } from '#test/support/openapi.ts';
import { testKey } from '#test/support/product.ts';

const [desktop, , , phone] = SCREENS;
/** One guide stands for all: they have the same layout. */
const layouts = PAGES.filter((page) => !page.startsWith('/docs/') || /pages|reference/.test(page));
const key = testKey(1);
const site = await visitSite(key);

describe('every page', () => {
  test('is sound without scripts, and shows no control that needs one', async () => {
    const page = await site.open(phone, false);
    for (const path of layouts) {
      await page.goto(site.url + path);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(phone.size.width);
      expect(await page.locator('[data-copy]:visible').count()).toBe(0);
      expect(await page.locator('.needs-script:visible').count()).toBe(0);
    }
    await page.goto(`${site.url}/docs/reference`);
    expect(await page.locator('.needs-script').count()).toBeGreaterThan(1);
    await page.goto(`${site.url}/docs/pages`);
    await page.getByRole('radio', { name: 'Python' }).first().check();
    expect(await page.locator('pre:visible').first().textContent()).toContain('import json');
    site.expectQuiet();
  });
});

test('no button to copy covers the text that it copies', async () => {
  const page = await site.open(desktop);
  for (const path of ['/', '/docs/first-call', '/docs/copy']) {
    await page.goto(site.url + path);
    const covered =
      await page.evaluate(`[...document.querySelectorAll('[data-copy]')].filter((button) => {
      const text = button.parentElement.querySelector('pre').getBoundingClientRect();
      const { left, top, bottom } = button.getBoundingClientRect();
      return button.offsetWidth > 0 && left < text.right && top < text.bottom && bottom > text.top;
    }).length`);
    expect([path, covered]).toEqual([path, 0]);
  }
});

test('on a desktop, no line of code goes on below, and on no screen a part of it is hidden', async () => {
  const explorer = ['/explore/snes/chrono-trigger', '/explore?q=mario&region=USA'];
  for (const screen of [desktop, phone]) {
    const page = await site.open(screen);
    for (const path of [...PAGES, ...explorer]) {
      await page.goto(site.url + path);
      const faults = await page.evaluate(`[...document.querySelectorAll('pre')].flatMap((pre) => {
        if (pre.offsetWidth === 0) return [];
        const isHidden = pre.scrollWidth > pre.clientWidth || pre.scrollHeight > pre.clientHeight;
        pre.style.cssText = 'white-space: pre; overflow-x: auto';
        const isFolded = pre.scrollWidth > pre.clientWidth && !/-response$/.test(pre.firstChild.id);
        return isHidden || (isFolded && innerWidth > 1000) ? [pre.textContent] : [];
      })`);
      expect([path, faults]).toEqual([path, []]);
    }
  }
});

describe('the reference', () => {
  test('shows every operation and object, none of them too tall', async () => {
    const page = await site.open(desktop);
    await page.goto(`${site.url}/docs/reference`);
    const { paths, components } = readContract();
    const operations = Object.values(paths as JsonObject).map(
      (each) => ((each as JsonObject).get as JsonObject).operationId,
    );
    const shown = (await page.evaluate(
      '[...document.querySelectorAll(".operation")].map(({ id, offsetHeight }) => [id, offsetHeight])',
    )) as [string, number][];
    expect(shown.map(([id]) => id).toSorted()).toEqual(operations.toSorted());
    expect(shown.filter(([, height]) => height > 3_600)).toEqual([]);
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
    const page = await site.open(desktop);
    await page.goto(`${site.url}/docs/reference`);
    const operation = page.locator('#getGame');
    await operation.getByText('Try it', { exact: true }).click();
    await operation.getByRole('button', { name: 'Send request' }).click();
    expect(await operation.getByRole('status').textContent()).toContain('Enter your whole API key');
    // As the account pages show a key.
    await operation.getByLabel('API key').fill(`${key.key.slice(0, 8)}…`);
    await operation.getByRole('button', { name: 'Send request' }).click();
    expect(await operation.getByRole('status').textContent()).toContain('Enter your whole API key');
    await operation.getByLabel('API key').fill(key.key);
    await operation.getByLabel('platformSlug').fill('snes');
    await operation.getByLabel('gameSlug').fill('chrono-trigger');
    await operation.getByLabel('include').fill('cover');
    await operation.getByRole('button', { name: 'Send request' }).click();
    await operation.getByText('"Chrono Trigger"').last().waitFor();
    expect(await operation.locator('#getGame-call-curl').textContent()).toBe(
      `curl -G "$COVERS_API/games/snes/chrono-trigger" \\
  -H "Authorization: Bearer $COVERS_KEY" \\
  -d include=cover`,
    );
    expect(await operation.getByRole('status').textContent()).toMatch(
      /^200 OK in \d+ ms · GET \/api\/v1\/games\/snes\/chrono-trigger\?include=cover$/,
    );
    expect(await page.evaluate('[localStorage.length, document.cookie]')).toEqual([0, '']);
    await page.reload();
    expect(await page.locator('#getStats-key').inputValue()).toBe(key.key);
    await page.goto(`${site.url}/docs/reference`);
    await page.locator('#getPlatform').getByText('Try it', { exact: true }).click();
    await page
      .locator('#getPlatform')
      .getByLabel('slug')
      .fill('../../<img src=x onerror=alert(1)>');
    await page.locator('#getPlatform').getByRole('button', { name: 'Send request' }).click();
    await page.locator('#getPlatform').getByText('"error"').waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    site.expectQuiet();
  });

  test('is filtered by the words of operations, parameters and members', async () => {
    const page = await site.open(desktop);
    await page.goto(`${site.url}/docs/reference`);
    const shown = () =>
      page.locator('[data-part]:visible').evaluateAll((all) => all.map(({ id }) => id));
    await page.getByLabel('Filter by').fill('facets');
    expect(await shown()).toEqual(['searchGames', 'object-facets']);
    expect(await page.locator('#contents a[href="#getGame"]:visible').count()).toBe(0);
    await page.getByLabel('Filter by').fill('');
    expect(((await shown()) as string[]).length).toBeGreaterThan(20);
  });
});
