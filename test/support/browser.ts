/**
 * Visits pages in a real Chromium, each time as a new visitor, and records errors, warnings and
 * requests to other origins.
 */
import {
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

// Without the network flags Chromium contacts its vendor at every start. Playwright creates a new
// folder of user data each time, and removes it.
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
export const LONGEST_WAIT_MS = 20_000;
export const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

/** The screens that every page is tested on. */
export const SCREENS = [
  { screen: 'desktop-light', size: DESKTOP, colorScheme: 'light' },
  { screen: 'desktop-dark', size: DESKTOP, colorScheme: 'dark' },
  { screen: 'phone-light', size: PHONE, colorScheme: 'light' },
  { screen: 'phone-dark', size: PHONE, colorScheme: 'dark' },
] as const;
export type Screen = (typeof SCREENS)[number];

export interface Chromium {
  newContext(options: BrowserContextOptions): Promise<BrowserContext>;
  closeContexts(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Chromium itself may crash, which says nothing about the product: the test that it was running is
 * repeated (`retry` in vitest.config.ts), and the next context is opened in a new Chromium.
 */
export async function startChromium(): Promise<Chromium> {
  const launch = () => chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
  let browser = await launch();
  return {
    async newContext(options) {
      if (!browser.isConnected()) browser = await launch();
      return browser.newContext(options);
    },
    async closeContexts() {
      for (const context of browser.contexts()) await context.close();
    },
    close: () => browser.close(),
  };
}

export interface Visits {
  /** Opens a page as a new visitor. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /**
   * Exceptions, dialogs, and errors and warnings of the console, which include violations of the
   * content security policy and responses with a status of 400 or above.
   */
  readonly complaints: readonly string[];
  /** Requested addresses of other origins. */
  readonly foreign: readonly string[];
}

/** @param origin of the pages; requests to any other are recorded */
export function makeVisits(browser: Chromium, origin: string): Visits {
  const complaints: string[] = [];
  const foreign: string[] = [];
  return {
    complaints,
    foreign,
    async open(options = {}) {
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
