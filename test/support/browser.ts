/**
 * Visits pages in a real Chromium, each time as a new visitor, and records errors, warnings and
 * requests to other origins. Finds what is wrong with a page. The soak keeps screenshots.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { atEndOfFile } from './end-of-file.ts';
import { ROOT } from './product.ts';
import { shared } from './shared.ts';

const LONGEST_WAIT_MS = 50_000;
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

/** The width that pages must fit into (WCAG 2.2, 1.4.10). */
const NARROWEST = { width: 320, height: 640 };
const AXE = readFileSync(path.join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
const OUTPUT = path.join(ROOT, 'test/output');

/** The screens that every page is tested on. */
export const SCREENS = [
  { screen: 'desktop-light', size: DESKTOP, colorScheme: 'light' },
  { screen: 'desktop-dark', size: DESKTOP, colorScheme: 'dark' },
  { screen: 'phone-light', size: PHONE, colorScheme: 'light' },
  { screen: 'phone-dark', size: PHONE, colorScheme: 'dark' },
] as const;
export type Screen = (typeof SCREENS)[number];

/** Connects to the Chromium of this run until the test file ends. Its contexts end with the connection. */
export async function startChromium(): Promise<Browser> {
  const browser = await chromium.connect((await shared('chromium')).endpoint);
  atEndOfFile(() => browser.close());
  return browser;
}

/**
 * Connects to Chromium during a test file, and ends its contexts after each test.
 * @returns a function that records visits to the pages of an origin, as {@link makeVisits} does
 */
export async function useChromium() {
  const browser = await startChromium();
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
  });
  return (origin: string) => makeVisits(browser, origin);
}

export type Visits = ReturnType<typeof makeVisits>;

/** @param origin of the pages; requests to any other are recorded */
export function makeVisits(browser: Browser, origin: string) {
  const complaints: string[] = [];
  const foreign: string[] = [];
  return {
    /**
     * Exceptions, dialogs, and errors and warnings of the console, which include violations of the
     * content security policy and responses with a status of 400 or above.
     */
    complaints: complaints as readonly string[],
    /** Requested addresses of other origins. */
    foreign: foreign as readonly string[],
    /** Opens a page as a new visitor. */
    async open(options: BrowserContextOptions = {}): Promise<Page> {
      const context = await browser.newContext({ viewport: DESKTOP, ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(LONGEST_WAIT_MS);
      page.on('pageerror', (error) => complaints.push(error.stack ?? String(error)));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('dialog', (dialog) => {
        complaints.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== origin) foreign.push(request.url());
      });
      return page;
    },
  };
}

/** What axe-core finds wrong with a page: each rule, with the elements that break it. */
export async function axeFaults(page: Page): Promise<unknown[]> {
  // Colours that still change have too little contrast. Their transitions begin with the next frame.
  await page.evaluate(`(async () => {
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {})));
  })()`);
  await page.evaluate(AXE);
  const { passes, violations } = (await page.evaluate('axe.run()')) as {
    passes: unknown[];
    violations: { id: string; nodes: { html: string }[] }[];
  };
  const faults: unknown[] = violations.map(({ id, nodes }) => [
    id,
    ...nodes.map(({ html }) => html),
  ]);
  if (passes.length <= 10) faults.push(`axe-core could apply only ${passes.length} rules`);
  return faults;
}

/** How far the content of a page has moved without the visitor's doing (Cumulative Layout Shift). */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    let sum = 0;
    const observe = (type, onList) => new PerformanceObserver(onList).observe({ type, buffered: true });
    observe('layout-shift', (list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
    });
    // Observers are called in the order in which they were made.
    performance.mark('end');
    observe('mark', () => resolve(sum));
  })`);
}

/** Whether a part of a page is wider than the screen, so that visitors have to scroll to the side. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > innerWidth');
}

/**
 * Checks on several screens that nothing is too wide and that axe-core finds no fault.
 * @param name of the screenshots, one for each screen; without a name, there are none, and one screen
 */
export async function look(
  page: Page,
  name?: string,
  screens: readonly Screen[] = SCREENS,
): Promise<void> {
  // Before its style sheets are loaded, a page has another width.
  await page.waitForLoadState();
  for (const { screen, size, colorScheme } of name === undefined ? [SCREENS[2]] : screens) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    const found = { isTooWide: await isTooWide(page), faults: await axeFaults(page) };
    expect({ name, screen, ...found }).toEqual({ name, screen, isTooWide: false, faults: [] });
    if (name !== undefined) await keepScreenshot(page, `${name}-${screen}`, true);
  }
  await page.setViewportSize(NARROWEST);
  expect({ name, isTooWide: await isTooWide(page) }).toEqual({ name, isTooWide: false });
  await page.setViewportSize(DESKTOP);
}

/**
 * Keeps a picture of a page in test/output, in the soak only: it costs 0.4 s of processor time, as much as
 * axe-core, and checks nothing.
 */
export async function keepScreenshot(page: Page, name: string, fullPage = false): Promise<void> {
  if (process.env.SOAK === undefined) return;
  mkdirSync(OUTPUT, { recursive: true });
  await page.screenshot({ path: path.join(OUTPUT, `${name}.png`), fullPage });
}

/** The elements that the Tab key reaches, in order, until it leaves the page. */
export async function tabThrough(page: Page): Promise<{ name: string; isVisible: boolean }[]> {
  const seen: { name: string; isVisible: boolean }[] = [];
  for (let presses = 0; presses < 100; presses++) {
    await page.keyboard.press('Tab');
    const stop = (await page.evaluate(`(() => {
      const at = document.activeElement;
      if (at === document.body) return null;
      const { top, bottom, width } = at.getBoundingClientRect();
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      const isMarked = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
      const isInView = top < innerHeight && bottom > 0 && width > 0;
      return { name: at.id || at.textContent.trim(), isVisible: isMarked && isInView };
    })()`)) as { name: string; isVisible: boolean } | null;
    if (stop === null) return seen;
    seen.push(stop);
  }
  throw new Error('The Tab key never left the page.');
}
