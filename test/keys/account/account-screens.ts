/**
 * Checks an account page in a real Chromium on every size of screen: nothing is wider than the screen,
 * and axe-core finds no fault. It keeps screenshots.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { DESKTOP, SCREENS } from '../../support/browser.ts';
import { ROOT } from '../../support/product.ts';

const AXE = readFileSync(path.join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
const OUTPUT = path.join(ROOT, 'test/output');
/** The width that pages must fit into (WCAG 2.2, 1.4.10). */
const NARROWEST = { width: 320, height: 640 };

/**
 * Checks that nothing is wider than the screen and that axe-core finds no fault.
 * @param name of the screenshots in test/output, one per screen; undefined for one screen and none
 */
export async function look(page: Page, name?: string): Promise<void> {
  for (const { screen, size, colorScheme } of name === undefined ? [SCREENS[2]] : SCREENS) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    await expectFitsScreen(page, `${name} on ${screen}`);
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
  await expectFitsScreen(page, `${name} on the narrowest screen`);
  await page.setViewportSize(DESKTOP);
}

async function expectFitsScreen(page: Page, where: string): Promise<void> {
  const [needed, width] = (await page.evaluate(
    '[document.documentElement.scrollWidth, innerWidth]',
  )) as [number, number];
  expect({ where, isTooWide: needed > width }).toEqual({ where, isTooWide: false });
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
