/** The pages outside the API in a real browser, for the tests of each run and for the soak. */
import type { Page } from 'playwright-core';
import { beforeEach, expect } from 'vitest';
import { makePages } from '#site/pages.ts';
import { startExplorer } from '#test/site/explore/explored.ts';
import {
  axeFaults,
  isTooWide,
  layoutShift,
  type Screen,
  useChromium,
  type Visits,
} from '#test/support/browser.ts';
import { FRAME } from '#test/support/pages.ts';
import type { TestKey } from '#test/support/product.ts';

const PUBLIC_URL = 'https://api.covers.example';
/** More than this moves visibly (https://web.dev/articles/cls: good is up to 0.1). */
const LARGEST_SHIFT = 0.01;

const site = makePages({ publicUrl: PUBLIC_URL, defaultLimit: 120, frame: FRAME });
/** The paths of all HTML pages. */
export const PAGES = [...[...site.keys()].filter((path) => !/[.]\w+$/.test(path)), '/no-such-page'];

/** Serves the site during a test file, with a new visitor for each test. */
export async function visitSite(key: TestKey) {
  const { proxy, images } = await startExplorer([key], key.key);
  const visit = await useChromium();
  let visits: Visits;
  beforeEach(() => {
    visits = visit(proxy.url);
  });
  return {
    url: proxy.url,
    open({ size, colorScheme }: Screen, javaScriptEnabled = true): Promise<Page> {
      const isMobile = size.width < 600;
      return visits.open({ viewport: size, isMobile, colorScheme, javaScriptEnabled });
    },
    /**
     * Expects no complaint of the browser but that of the status of /no-such-page, and no request to another
     * host but that of the images.
     */
    expectQuiet() {
      expect(visits.complaints.filter((text) => !/status of 404/.test(text))).toEqual([]);
      expect(visits.foreign.filter((url) => !url.startsWith(`${images}/`))).toEqual([]);
    },
  };
}

/**
 * What is wrong with a page that was just loaded: faults that axe-core finds, a part that is wider than the
 * screen, or one that moved while the page loaded.
 */
export async function faultsOf(page: Page): Promise<unknown[]> {
  const shift = await layoutShift(page);
  const faults = await axeFaults(page);
  if (await isTooWide(page)) faults.push('wider than the screen');
  const headings = await page.locator('h1').count();
  if (headings !== 1) faults.push(`${headings} h1`);
  if (shift > LARGEST_SHIFT) faults.push(`moved by ${shift}`);
  return faults;
}
