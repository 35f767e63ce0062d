/**
 * The life of a key in a real browser, through the port of the proxy, with the scheduled export and a
 * real mail server: it is requested, approved, revealed, used, rotated and revoked.
 * Each page on the way is checked on several screens.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { KEYS_TABLES } from '../../../keys/tables/schema.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { IS_SOAK } from '../../soak/rounds.ts';
import {
  linkOf,
  makeAccounts,
  PEOPLE,
  passMailPause,
  type RunningSite,
  startSite,
} from '../../support/account.ts';
import {
  type Chromium,
  look as lookAt,
  makeVisits,
  screensFor,
  startChromium,
  tabThrough,
  type Visits,
} from '../../support/browser.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';
import { type RunningProxy, until } from '../../support/product.ts';
import { type Mailbox, startMailbox } from '../../support/servers/mailbox.ts';

const WITHIN_MS = 5_000;
const RAW_KEY = /^cck_[0-9A-Za-z]{38}$/;
const MARKUP = `</textarea></script><script>alert(1)</script><img src=x onerror="alert(2)">' "&`;
const { owner, other, moderator } = PEOPLE;
/** An account whose name contains markup and is as long as possible. */
const evil = {
  id: 66,
  email: 'evil@covers.example',
  name: `${MARKUP}${'W'.repeat(255 - MARKUP.length)}`,
};

let browser: Chromium;

beforeAll(async () => {
  browser = await startChromium();
}, 60_000);

afterAll(async () => {
  await browser?.close();
});

describe.each(KINDS)('on %s', { timeout: 180_000 }, async (kind) => {
  const databaseUrl = await makeDatabase(kind);
  /** Checks a page. With the other database, the pages are the same, so only the full form checks them again. */
  async function look(page: Page, name: string): Promise<void> {
    const screens = screensFor(IS_SOAK);
    if (kind === 'sqlite' || IS_SOAK) await lookAt(page, `account-${name}`, screens);
  }
  let mailbox: Mailbox;
  let proxy: RunningProxy;
  let site: RunningSite;
  let visits: Visits;
  let asOwner: Page;
  let asModerator: Page;

  beforeAll(async () => {
    await makeAccounts(databaseUrl);
    const database = await openDatabase(databaseUrl);
    await loadCatalogue(database, sampleCatalogue());
    await database.run("INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, 'user')", [
      ...[evil.id, evil.email, evil.name],
    ]);
    await database.close();
    mailbox = await startMailbox();
    site = await startSite(databaseUrl, { SMTP_URL: mailbox.url });
    ({ proxy } = site);
    visits = makeVisits(browser, proxy.url);
    asOwner = await visits.open();
    asModerator = await visits.open();
  }, 60_000);

  afterAll(async () => {
    await site?.stop();
    await mailbox?.stop();
  });

  async function signIn(page: Page, email: string): Promise<void> {
    const before = mailbox.to(email).length;
    await page.goto(`${proxy.url}/account/api-keys`);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'E-mail me a link' }).click();
    await page.getByRole('heading', { name: 'inbox' }).waitFor();
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
    await page.getByRole('status').filter({ hasText: 'request is sent' }).waitFor();
  }

  /** Waits for a mail to an address that contains a text, and returns it. */
  async function mailWith(email: string, text: string): Promise<string> {
    const found = () => mailbox.to(email).find((mail) => mail.includes(text));
    const database = await openDatabase(databaseUrl);
    await until(async () => {
      await passMailPause(database);
      return found() !== undefined;
    });
    await database.close();
    return found() as string;
  }

  async function timeUntil(status: number, key: string): Promise<number> {
    const started = performance.now();
    await until(async () => (await proxy.get('/stats', key)).status === status);
    return performance.now() - started;
  }

  const shownKey = async (page: Page) => (await page.locator('#key').textContent()) as string;

  /** Everything that the programs have written: tables, files, logs, mails. */
  async function everythingWritten(): Promise<string> {
    const kept = [
      site.pages.log(),
      proxy.log(),
      ...mailbox.to(owner.email),
      ...mailbox.to(other.email),
    ];
    const database = await openDatabase(databaseUrl);
    for (const table of Object.keys(KEYS_TABLES)) {
      kept.push(JSON.stringify(await database.rows(`SELECT * FROM ${table}`)));
    }
    await database.close();
    const folders = [site.snapshotsDir];
    if (kind === 'sqlite') folders.push(path.dirname(databaseUrl.slice('sqlite:'.length)));
    for (const folder of folders) {
      for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        kept.push(readFileSync(path.join(file.parentPath, file.name), 'latin1'));
      }
    }
    return kept.join('\n');
  }

  test('a key is requested, approved, revealed, used, rotated and revoked', async () => {
    await asOwner.goto(`${proxy.url}/`);
    await asOwner.getByRole('link', { name: 'Request an API key' }).click();
    await look(asOwner, 'sign-in');
    await signIn(asOwner, owner.email);
    const purpose = 'A browser extension.\nPlease 600 requests a minute: its lists are long.';
    await request(asOwner, purpose);
    await look(asOwner, 'requested');
    await signIn(asModerator, moderator.email);
    await look(asModerator, 'moderation');
    await asModerator.getByLabel('Requests per minute').fill('600');
    await asModerator.getByRole('button', { name: 'Approve' }).click();
    await asModerator.getByRole('status').filter({ hasText: 'approved' }).waitFor();

    const [link] = /http\S+/.exec(await mailWith(owner.email, 'is approved')) as RegExpExecArray;
    expect(link).toBe(`${proxy.url}/account/api-keys`);
    await asOwner.goto(link);
    await look(asOwner, 'approved');
    await asOwner.getByRole('button', { name: 'Reveal key' }).click();
    const key = await shownKey(asOwner);
    expect((await proxy.get('/stats', key)).status).toBe(200);
    expect(key).toMatch(RAW_KEY);
    await look(asOwner, 'revealed');
    expect(await asOwner.locator('#curl').textContent()).toBe(
      `curl -H 'Authorization: Bearer ${key}' ${proxy.url}/api/v1/stats`,
    );
    await asOwner.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await asOwner.getByRole('button', { name: 'Copy API key' }).click();
    await asOwner.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    expect(await asOwner.evaluate('navigator.clipboard.readText()')).toBe(key);

    await asOwner.reload();
    await asOwner.getByRole('alert').filter({ hasText: 'only once' }).waitFor();
    expect(await asOwner.content()).not.toContain(key);
    await look(asOwner, 'refused');
    await asOwner.goto(`${proxy.url}/account/api-keys`);
    expect(await asOwner.content()).not.toContain(key);
    expect(await asOwner.content()).toContain(key.slice(0, 8));
    await asOwner.locator('summary', { hasText: 'Rotate' }).click();
    await asOwner.locator('summary', { hasText: 'Revoke' }).click();
    await look(asOwner, 'revealed-before');

    await asOwner.getByRole('button', { name: 'Rotate key' }).click();
    const second = await shownKey(asOwner);
    expect((await proxy.get('/stats', second)).status).toBe(200);
    expect((await proxy.get('/stats', key)).status).toBe(401);
    // Going back does not show the page with the key: it is not kept in the browser's history.
    await asOwner.getByRole('link', { name: 'I’ve saved my key' }).click();
    await asOwner.getByRole('heading', { name: 'Your keys' }).waitFor();
    const address = asOwner.url();
    await asOwner.goBack().catch(() => {});
    await until(() => asOwner.url() !== address);
    await until(async () => !(await asOwner.content().catch(() => second)).includes(second));

    await asModerator.goto(`${proxy.url}/moderation/api-keys`);
    await asModerator.getByRole('link', { name: 'Key 1' }).click();
    await look(asModerator, 'one-key');
    await asModerator.getByLabel('Reason').fill('Seen in a public repository');
    await asModerator.getByRole('button', { name: 'Revoke key' }).click();
    await asModerator.getByRole('status').filter({ hasText: 'revoked' }).waitFor();
    expect(await timeUntil(401, second)).toBeLessThan(WITHIN_MS);
    await mailWith(owner.email, 'Seen in a public repository');

    const kept = await everythingWritten();
    expect(kept.includes(second.slice(0, 8))).toBe(true);
    expect([key, second].filter((raw) => kept.includes(raw))).toEqual([]);
  });

  test('the owner of a rejected request sees the reason', async () => {
    await request(asOwner, 'Something else <b>entirely</b>');
    await asModerator.goto(`${proxy.url}/moderation/api-keys`);
    await asModerator.getByLabel('Reason').fill('The website is <i>empty</i>.');
    await asModerator.getByRole('button', { name: 'Reject' }).click();
    await asModerator.getByRole('status').filter({ hasText: 'rejected' }).waitFor();
    await mailWith(owner.email, '> The website is <i>empty</i>.');
    await asOwner.goto(`${proxy.url}/account/api-keys`);
    await asOwner.locator('summary', { hasText: 'Revoked, rejected and withdrawn' }).click();
    const reason = asOwner.locator('dd', { hasText: 'The website is <i>empty</i>.' });
    await reason.waitFor();
    expect(await reason.isVisible()).toBe(true);
    await look(asOwner, 'rejected');
  });

  test('everything works without scripts', async () => {
    const plain = await visits.open({ javaScriptEnabled: false });
    const reviewer = await visits.open({ javaScriptEnabled: false });
    await signIn(plain, other.email);
    await request(plain, 'A reader for the terminal');
    await signIn(reviewer, moderator.email);
    await reviewer.getByRole('button', { name: 'Approve' }).click();
    await reviewer.getByRole('status').filter({ hasText: 'approved' }).waitFor();
    await plain.goto(`${proxy.url}/account/api-keys`);
    await plain.getByRole('button', { name: 'Reveal key' }).click();
    const key = await shownKey(plain);
    expect(key).toMatch(RAW_KEY);
    expect(await plain.getByRole('button', { name: 'Copy' }).count()).toBe(0);
    expect((await proxy.get('/stats', key)).status).toBe(200);
    await plain.getByRole('link', { name: 'I’ve saved my key' }).click();
    await plain.locator('summary', { hasText: 'Revoke' }).click();
    await plain.getByRole('button', { name: 'Revoke key' }).click();
    await plain.getByRole('status').filter({ hasText: 'revoked' }).waitFor();
    expect(await timeUntil(401, key)).toBeLessThan(WITHIN_MS);
    await plain.getByRole('button', { name: 'Sign out' }).click();
    await plain.getByLabel('E-mail address').waitFor();
  });

  test('everything works with the keyboard, and the focus is always visible', async () => {
    await asOwner.goto(`${proxy.url}/account/api-keys`);
    const stops = await tabThrough(asOwner);
    expect(stops.filter(({ isVisible }) => !isVisible)).toEqual([]);
    const names = stops.map(({ name }) => name);
    expect(names[0]).toBe('Skip to the content');
    expect(names).toEqual(
      expect.arrayContaining(['API keys', 'Sign out', 'purpose', 'website-url', 'Request a key']),
    );
    await asOwner.locator('#purpose').focus();
    const { keyboard } = asOwner;
    await keyboard.type('Asked for without a mouse');
    await keyboard.press('Tab');
    await keyboard.type('https://covers.example/keys');
    await keyboard.press('Enter');
    await asOwner.getByRole('status').filter({ hasText: 'request is sent' }).waitFor();
  });

  test('texts of strangers break neither the markup nor the width of a page', async () => {
    const stranger = await visits.open();
    await signIn(stranger, evil.email);
    await request(stranger, `${MARKUP}\n${'m'.repeat(3000)}`);
    await look(stranger, 'hostile');
    await asModerator.goto(`${proxy.url}/moderation/api-keys`);
    await asModerator.getByText(MARKUP).first().waitFor();
    await look(asModerator, 'hostile-queue');
    const decision = asModerator.locator('.card', { hasText: evil.email });
    await decision.getByLabel('Reason').fill(`${MARKUP}${'i'.repeat(500)}`);
    await decision.getByRole('button', { name: 'Reject' }).click();
    await asModerator.getByRole('status').filter({ hasText: 'rejected' }).waitFor();
    await stranger.goto(`${proxy.url}/account/api-keys`);
    await stranger.locator('summary', { hasText: 'Revoked, rejected and withdrawn' }).click();
    await stranger.locator('dd', { hasText: `${MARKUP}iii` }).waitFor();
    await asModerator.getByRole('link', { name: 'Request 5' }).first().click();
    await asModerator.getByText(`${MARKUP}iii`).first().waitFor();
    await look(asModerator, 'hostile-key');
    expect(
      await stranger.evaluate('document.querySelectorAll("main img, main script").length'),
    ).toBe(0);
  });

  test('no page sent requests to other origins or violated its content security policy', () => {
    expect(visits.foreign).toEqual([]);
    // A refused page has a status of 4xx, which the browser reports.
    const complaints = visits.complaints.filter((text) => !/status of 4\d\d/.test(text));
    expect(complaints).toEqual([]);
  });
});
