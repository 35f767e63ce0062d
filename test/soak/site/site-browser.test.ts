/**
 * The pages outside the API in a real browser, on a desktop and a phone, light and dark: axe-core finds nothing,
 * nothing is wider than the screen or moves while the page loads, and
 * nothing is loaded from another host or against the content security policy.
 */
import { expect, test } from 'vitest';
import { faultsOf, PAGES, visitSite } from '#test/site/visited-site.ts';
import { IS_FULL } from '#test/soak/rounds.ts';
import { keepScreenshot, SCREENS } from '#test/support/browser.ts';
import { testKey } from '#test/support/product.ts';

const [desktop, , , phone] = SCREENS;
const site = await visitSite(testKey(1));

test.each(IS_FULL ? SCREENS : [desktop, phone])('every page is sound ($screen)', async (screen) => {
  const page = await site.open(screen);
  for (const path of PAGES) {
    await page.goto(site.url + path);
    expect([path, await faultsOf(page)]).toEqual([path, []]);
    await keepScreenshot(page, `site${path.replaceAll('/', '-')}-${screen.screen}`);
  }
  site.expectQuiet();
});

test('the reference has no fault when everything in it is open', async () => {
  const page = await site.open(phone);
  await page.goto(`${site.url}/docs/reference`);
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
  expect(await faultsOf(page)).toEqual([]);
});
