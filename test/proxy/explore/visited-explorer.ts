/** The explorer in a real browser, for the tests of each run and for the soak. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type Chromium, makeVisits, startChromium, type Visits } from '../../support/browser.ts';
import type { TestKey } from '../../support/product.ts';
import { type Explored, startExplorer } from './explored.ts';

export interface VisitedExplorer extends Explored {
  readonly url: string;
  /** Opens a page as another person each time, since one may open only some pages a minute. */
  open(options?: BrowserContextOptions): Promise<Page>;
  readonly complaints: readonly string[];
  /** Records visits to the proxy at another address from here on, until the test ends. */
  visit(url: string): void;
  /** Expects no error, no violation of the policy, and no request to other hosts but that of the images. */
  expectQuiet(): void;
}

/** Serves the explorer during a test file. @param explorerKey the value of EXPLORER_KEY */
export function visitExplorer(keys: readonly TestKey[], explorerKey: string): VisitedExplorer {
  let browser: Chromium;
  let explored: Explored;
  let visits: Visits;
  let people = 0;
  beforeAll(async () => {
    browser = await startChromium();
    explored = await startExplorer(keys, explorerKey);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await explored?.proxy.stop();
  });
  beforeEach(() => {
    visits = makeVisits(browser, explored.proxy.url);
  });
  afterEach(async () => {
    await browser.closeContexts();
  });
  return {
    get proxy() {
      return explored.proxy;
    },
    get snapshotsDir() {
      return explored.snapshotsDir;
    },
    get images() {
      return explored.images;
    },
    get url() {
      return explored.proxy.url;
    },
    get complaints() {
      return visits.complaints;
    },
    open(options) {
      const extraHTTPHeaders = { 'X-Forwarded-For': `10.0.0.${++people}` };
      return visits.open({ extraHTTPHeaders, ...options });
    },
    visit(url) {
      visits = makeVisits(browser, url);
    },
    expectQuiet() {
      expect(visits.complaints).toEqual([]);
      expect(visits.foreign.filter((url) => !url.startsWith(explored.images))).toEqual([]);
    },
  };
}
