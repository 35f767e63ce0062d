/**
 * Visits to pages in a real Chromium: each visitor is somebody new, and what a page asks for
 * elsewhere and complains of is noted.
 */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

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
export const LONGEST_WAIT_MS = 20_000;
export const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };

/** What every page is looked at on. */
export const SCREENS = [
  { screen: 'desktop-light', size: DESKTOP, colorScheme: 'light' },
  { screen: 'desktop-dark', size: DESKTOP, colorScheme: 'dark' },
  { screen: 'phone-light', size: PHONE, colorScheme: 'light' },
  { screen: 'phone-dark', size: PHONE, colorScheme: 'dark' },
] as const;
export type Screen = (typeof SCREENS)[number];

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
}

export interface Visits {
  /** A page of somebody new. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /**
   * Exceptions, errors and warnings of the console, refusals of the content security policy and
   * answers of 400 and above among them, and dialogs.
   */
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
      page.on('pageerror', (error) => complaints.push(error.stack ?? String(error)));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
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
