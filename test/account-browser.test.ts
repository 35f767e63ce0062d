/**
 * The life of a key in a real browser, through the proxy's one port, with the scheduled export and a
 * real mail server: asked for, approved, mailed, revealed, used, revoked. Each page on the way is
 * looked at on four screens, and held to what axe-core knows of accessibility.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../database/open.ts';
import { ACCOUNTS, linkOf, makeAccounts, type RunningPages, startPages } from './account.ts';
import { loadCatalogue } from './catalogue/load.ts';
import { sampleCatalogue } from './catalogue/sample.ts';
import { KINDS, makeDatabase } from './databases.ts';
import { type Mailbox, startMailbox } from './mailbox.ts';
import { freePort } from './nginx.ts';
import {
  end,
  makeFolder,
  ROOT,
  type RunningProxy,
  send,
  startProgram,
  startProxy,
  until,
} from './product.ts';

const WITHIN_MS = 5_000;
const AXE = readFileSync(path.join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
const OUTPUT = path.join(import.meta.dirname, 'output');
const SCREENS = [
  { name: 'desktop-light', width: 1280, height: 900, colorScheme: 'light' },
  { name: 'desktop-dark', width: 1280, height: 900, colorScheme: 'dark' },
  { name: 'phone-light', width: 360, height: 740, colorScheme: 'light' },
  { name: 'phone-dark', width: 360, height: 740, colorScheme: 'dark' },
] as const;
const { owner, moderator } = ACCOUNTS;

let browser: Browser;

beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
  });
}, 60_000);

afterAll(async () => {
  await browser?.close();
});

describe.each(KINDS)('on %s', { timeout: 120_000 }, async (kind) => {
  const databaseUrl = await makeDatabase(kind);
  const complaints: string[] = [];
  const foreign: string[] = [];
  let mailbox: Mailbox;
  let proxy: RunningProxy;
  let pages: RunningPages;
  let schedule: ReturnType<typeof startProgram>;
  let asOwner: Page;
  let asModerator: Page;

  beforeAll(async () => {
    await makeAccounts(databaseUrl);
    const database = await openDatabase(databaseUrl);
    await loadCatalogue(database, { ...sampleCatalogue(), accounts: [] });
    await database.close();
    mailbox = await startMailbox();
    const snapshotsDir = path.join(makeFolder(), 'snapshots');
    schedule = startProgram('generator/schedule.ts', [], {
      DATABASE_URL: databaseUrl,
      SNAPSHOTS_DIR: snapshotsDir,
    });
    schedule.stdout?.resume();
    schedule.stderr?.resume();
    const port = String(await freePort());
    proxy = await startProxy(snapshotsDir, { KEYS_URL: `http://127.0.0.1:${port}` });
    pages = await startPages(databaseUrl, {
      KEYS_PORT: port,
      PUBLIC_URL: proxy.url,
      SMTP_URL: mailbox.url,
    });
    await until(async () => (await send(`${proxy.adminUrl}/readyz`)).status === 200);
    asOwner = await openPage({});
    asModerator = await openPage({});
  }, 60_000);

  afterAll(async () => {
    await asOwner?.context().close();
    await asModerator?.context().close();
    await pages?.stop();
    await proxy?.stop();
    await end(schedule, 'SIGTERM');
    await mailbox?.stop();
  });

  async function openPage(options: Parameters<Browser['newContext']>[0]): Promise<Page> {
    const context: BrowserContext = await browser.newContext(options);
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      const isRefusal = /status of 4\d\d/.test(message.text());
      if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
    });
    page.on('request', (asked) => {
      if (!asked.url().startsWith(proxy.url)) foreign.push(asked.url());
    });
    return page;
  }

  async function signIn(page: Page, email: string): Promise<void> {
    const before = mailbox.to(email).length;
    await page.goto(`${proxy.url}/account/api-keys`);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByRole('heading', { name: 'mailbox' }).waitFor();
    await until(() => mailbox.to(email).length > before);
    await page.goto(proxy.url + linkOf(mailbox.to(email).at(-1) as string));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  }

  async function request(page: Page, purpose: string): Promise<void> {
    await page.goto(`${proxy.url}/account/api-keys`);
    await page.getByLabel('What are you building?').fill(purpose);
    await page.getByLabel('Website of the project').fill('https://covers.example/project');
    await page.getByRole('button', { name: 'Request a key' }).click();
    await page.getByRole('status').filter({ hasText: 'under review' }).waitFor();
  }

  /** Holds what is on the screen to the rules of every page, and keeps pictures of it. */
  async function look(page: Page, name: string): Promise<void> {
    for (const { name: screen, width, height, colorScheme } of SCREENS) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
        width,
      );
      await page.evaluate(AXE);
      const found = (await page.evaluate('axe.run()')) as {
        passes: unknown[];
        violations: { id: string; nodes: { html: string }[] }[];
      };
      expect(found.passes.length).toBeGreaterThan(10);
      const faults = found.violations.map(({ id, nodes }) => [
        id,
        ...nodes.map(({ html }) => html),
      ]);
      expect({ name, screen, faults }).toEqual({ name, screen, faults: [] });
      if (kind === 'sqlite') {
        const file = path.join(OUTPUT, `account-${name}-${screen}.png`);
        await page.screenshot({ path: file, fullPage: true });
      }
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  const ask = (key: string) =>
    send(`${proxy.url}/api/v1/stats`, { headers: { 'x-api-key': key } }).then(
      ({ status }) => status,
    );

  async function timeUntil(status: number, key: string): Promise<number> {
    const started = performance.now();
    await until(async () => (await ask(key)) === status);
    return performance.now() - started;
  }

  test('a key from the request to its end', async () => {
    await asOwner.goto(`${proxy.url}/`);
    await asOwner.getByRole('link', { name: 'Ask for an API key' }).click();
    await look(asOwner, 'sign-in');
    await signIn(asOwner, owner.email);
    await request(
      asOwner,
      'A browser extension.\nPlease 600 requests a minute: its lists are long.',
    );
    await signIn(asModerator, moderator.email);
    await look(asModerator, 'moderation');
    await asModerator.getByLabel('Requests a minute').fill('600');
    await asModerator.getByRole('button', { name: 'Approve' }).click();
    await asModerator.getByRole('status').filter({ hasText: 'approved' }).waitFor();

    await until(() => mailbox.to(owner.email).some((mail) => /approved/i.test(mail)));
    const approval = mailbox.to(owner.email).at(-1) as string;
    expect(approval).toContain(`${proxy.url}/account/api-keys`);
    await asOwner.goto(`${proxy.url}/account/api-keys`);
    await look(asOwner, 'approved');
    await asOwner.getByRole('button', { name: 'Reveal key' }).click();
    const key = (await asOwner.locator('#key').textContent()) as string;
    expect(key).toMatch(/^cck_[0-9A-Za-z]{38}$/);
    await look(asOwner, 'revealed');
    expect(await asOwner.locator('#curl').textContent()).toBe(
      `curl -H 'X-Api-Key: ${key}' ${proxy.url}/api/v1/stats`,
    );
    await asOwner.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await asOwner.getByRole('button', { name: 'Copy API key' }).click();
    await asOwner.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    expect(await asOwner.evaluate('navigator.clipboard.readText()')).toBe(key);
    expect(await timeUntil(200, key)).toBeLessThan(WITHIN_MS);

    await asOwner.reload();
    await asOwner.getByRole('alert').waitFor();
    expect(await asOwner.content()).not.toContain(key);
    expect(await ask(key)).toBe(200);
    await asOwner.goto(`${proxy.url}/account/api-keys`);
    expect(await asOwner.content()).not.toContain(key);
    expect(await asOwner.content()).toContain(key.slice(0, 8));
    await asOwner.locator('summary', { hasText: 'Rotate' }).click();
    await asOwner.locator('summary', { hasText: 'Revoke' }).click();
    await look(asOwner, 'revealed-before');

    await asOwner.getByRole('button', { name: 'Rotate key' }).click();
    const second = (await asOwner.locator('#key').textContent()) as string;
    expect(await timeUntil(401, key)).toBeLessThan(WITHIN_MS);
    expect(await timeUntil(200, second)).toBeLessThan(WITHIN_MS);

    await asModerator
      .getByRole('link', { name: /^Key \d+$/ })
      .first()
      .click();
    await look(asModerator, 'one-key');
    await asModerator.getByLabel('Reason').fill('Seen in a public repository');
    await asModerator.getByRole('button', { name: 'Revoke key' }).click();
    await asModerator.getByRole('status').filter({ hasText: 'revoked' }).waitFor();
    expect(await timeUntil(401, second)).toBeLessThan(WITHIN_MS);
    await until(() => mailbox.to(owner.email).some((mail) => mail.includes('public repository')));

    for (const raw of [key, second]) {
      for (const text of [pages.log(), proxy.log(), ...mailbox.to(owner.email)]) {
        expect(text).not.toContain(raw);
      }
    }
  });

  test('a rejected request, with its reason, by people without scripts', async () => {
    const plain = await openPage({ javaScriptEnabled: false });
    await signIn(plain, moderator.email);
    await request(asOwner, 'Something else <b>entirely</b>');
    await plain.goto(`${proxy.url}/moderation/api-keys`);
    await plain.getByLabel('Reason').fill('The web site is <i>empty</i>.');
    await plain.getByRole('button', { name: 'Reject' }).click();
    await plain.getByRole('status').filter({ hasText: 'rejected' }).waitFor();
    await until(() => mailbox.to(owner.email).some((mail) => mail.includes('is <i>empty</i>.')));
    await asOwner.goto(`${proxy.url}/account/api-keys`);
    await asOwner.getByText('The web site is <i>empty</i>.').waitFor();
    await look(asOwner, 'rejected');
    await plain.context().close();
  });

  test('the whole of it can be reached by keyboard, with the focus in sight', async () => {
    await asOwner.goto(`${proxy.url}/account/api-keys`);
    const seen: string[] = [];
    for (let presses = 0; presses < 30; presses++) {
      await asOwner.keyboard.press('Tab');
      const { name, outline } = (await asOwner.evaluate(`(() => {
        const at = document.activeElement;
        const style = getComputedStyle(at);
        return { name: at.id || at.textContent.trim(), outline: style.outlineStyle };
      })()`)) as { name: string; outline: string };
      expect([name, outline]).not.toEqual([name, 'none']);
      seen.push(name);
    }
    expect(seen[0]).toBe('Skip to the content');
    expect(seen).toEqual(
      expect.arrayContaining(['Sign out', 'purpose', 'website-url', 'Request a key']),
    );
  });

  test('no page asked for anything elsewhere or broke its own rules', () => {
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
