/** The explorer in a real browser, for the tests of each run and for the soak. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { useChromium, type Visits } from '#test/support/browser.ts';
import type { TestKey } from '#test/support/product.ts';
import { type Explored, startExplorer } from './explored.ts';

export interface VisitedExplorer {
  site(): Explored;
  url(): string;
  /** Opens a page as another person each time, since one may open only some pages a minute. */
  open(options?: BrowserContextOptions): Promise<Page>;
  complaints(): readonly string[];
  /** Expects no error, no violation of the policy, and no request to other hosts but that of the images. */
  expectQuiet(): void;
}

/** Serves the explorer during a test file. @param explorerKey the value of EXPLORER_KEY */
export function visitExplorer(keys: readonly TestKey[], explorerKey: string): VisitedExplorer {
  const visit = useChromium();
  let explored: Explored;
  let visits: Visits;
  let people = 0;
  beforeAll(async () => {
    explored = await startExplorer(keys, explorerKey);
  }, 60_000);
  afterAll(() => explored?.proxy.stop());
  beforeEach(() => {
    visits = visit(explored.proxy.url);
  });
  return {
    site: () => explored,
    url: () => explored.proxy.url,
    open(options) {
      const extraHTTPHeaders = { 'X-Forwarded-For': `10.0.0.${++people}` };
      return visits.open({ extraHTTPHeaders, ...options });
    },
    complaints: () => visits.complaints,
    expectQuiet() {
      expect(visits.complaints).toEqual([]);
      expect(visits.foreign.filter((url) => !url.startsWith(explored.images))).toEqual([]);
    },
  };
}
