/**
 * Visits to the pages of API keys in a real Chromium: what a page asks for, complains of and shows
 * is noted, and each page is held to the rules of all of them on every screen.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { ROOT } from './product.ts';

const AXE = readFileSync(path.join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
const OUTPUT = path.join(import.meta.dirname, 'output');
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
/** What WCAG 2.2, 1.4.10 asks pages to fit into. */
const NARROWEST = { width: 320, height: 640 };
const LONGEST_WAIT_MS = 10_000;
const SCREENS = [
  { screen: 'desktop-light', size: DESKTOP, colorScheme: 'light' },
  { screen: 'desktop-dark', size: DESKTOP, colorScheme: 'dark' },
  { screen: 'phone-light', size: PHONE, colorScheme: 'light' },
  { screen: 'phone-dark', size: PHONE, colorScheme: 'dark' },
] as const;
// Without the network flags Chromium looks for its maker's hosts at every start. Its folder of user
// data is a new one each time: playwright makes and removes it.
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
}

export interface Visits {
  /** A page of somebody new. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** Errors of pages, refusals of the content security policy among them, and dialogs. */
  readonly complaints: readonly string[];
  /** Addresses elsewhere that a page asked for. */
  readonly foreign: readonly string[];
}

/** @param origin where the pages are reached; all else is elsewhere */
export function makeVisits(browser: Browser, origin: string): Visits {
  const complaints: string[] = [];
  const foreign: string[] = [];
  return {
    complaints,
    foreign,
    async open(options = {}) {
      const context = await browser.newContext({ viewport: DESKTOP, ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(LONGEST_WAIT_MS);
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        // Chromium calls every answer of 4xx an error.
        const isRefusal = /status of 4\d\d/.test(message.text());
        if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
      });
      page.on('dialog', (dialog) => {
        complaints.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('request', (asked) => {
        if (new URL(asked.url()).origin !== origin) foreign.push(asked.url());
      });
      return page;
    },
  };
}

/**
 * Holds what is on the screen to the rules of every page: nothing juts out, and axe-core finds
 * nothing that is hard to use.
 * @param name of its pictures in test/output, one a screen; undefined: one screen and no picture
 */
export async function look(page: Page, name?: string): Promise<void> {
  for (const { screen, size, colorScheme } of name === undefined ? [SCREENS[2]] : SCREENS) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    await expectNothingJutsOut(page, `${name} on ${screen}`);
    await page.evaluate(AXE);
    const found = (await page.evaluate('axe.run()')) as {
      passes: unknown[];
      violations: { id: string; nodes: { html: string }[] }[];
    };
    expect(found.passes.length).toBeGreaterThan(10);
    const faults = found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
    expect({ name, screen, faults }).toEqual({ name, screen, faults: [] });
    if (name === undefined) continue;
    mkdirSync(OUTPUT, { recursive: true });
    await page.screenshot({ path: path.join(OUTPUT, `${name}-${screen}.png`), fullPage: true });
  }
  await page.setViewportSize(NARROWEST);
  await expectNothingJutsOut(page, `${name} on the narrowest screen`);
  await page.setViewportSize(DESKTOP);
}

async function expectNothingJutsOut(page: Page, where: string): Promise<void> {
  const [needed, width] = (await page.evaluate(
    '[document.documentElement.scrollWidth, innerWidth]',
  )) as [number, number];
  expect({ where, isTooWide: needed > width }).toEqual({ where, isTooWide: false });
}

/** What the Tab key comes to, one after the other, until it leaves the page. */
export async function tabThrough(page: Page): Promise<{ name: string; isInSight: boolean }[]> {
  const seen: { name: string; isInSight: boolean }[] = [];
  for (let presses = 0; presses < 100; presses++) {
    await page.keyboard.press('Tab');
    const stop = (await page.evaluate(`(() => {
      const at = document.activeElement;
      if (at === document.body) return null;
      const { top, bottom, width } = at.getBoundingClientRect();
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      const isMarked = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
      const isInView = top < innerHeight && bottom > 0 && width > 0;
      return { name: at.id || at.textContent.trim(), isInSight: isMarked && isInView };
    })()`)) as { name: string; isInSight: boolean } | null;
    if (stop === null) return seen;
    seen.push(stop);
  }
  throw new Error('The Tab key never left the page.');
}
