/** The explorer in a real browser, for the tests of each run and for the soak. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeEach, expect } from 'vitest';
import { useChromium, type Visits } from '#test/support/browser.ts';
import type { TestKey } from '#test/support/product.ts';
import { startExplorer } from './explored.ts';

/** Serves the explorer during a test file. @param explorerKey the value of EXPLORER_KEY */
export async function visitExplorer(keys: readonly TestKey[], explorerKey: string) {
  const { proxy, snapshotsDir, images } = await startExplorer(keys, explorerKey);
  const visit = await useChromium();
  let visits: Visits;
  let people = 0;
  beforeEach(() => {
    visits = visit(proxy.url);
  });
  return {
    url: proxy.url,
    snapshotsDir,
    images,
    /** Opens a page as another person each time, since one may open only some pages a minute. */
    open(options?: BrowserContextOptions): Promise<Page> {
      const extraHTTPHeaders = { 'X-Forwarded-For': `10.0.0.${++people}` };
      return visits.open({ extraHTTPHeaders, ...options });
    },
    complaints: () => visits.complaints,
    /** Expects no error, no violation of the policy, and no request to other hosts but that of the images. */
    expectQuiet() {
      expect(visits.complaints).toEqual([]);
      expect(visits.foreign.filter((url) => !url.startsWith(images))).toEqual([]);
    },
  };
}
