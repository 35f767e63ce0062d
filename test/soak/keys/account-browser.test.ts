/**
 * The life of a key in a real browser, through the port of the proxy and with a real mail server: it is
 * requested, approved, revealed, used, rotated and revoked. Each page on the way is checked on a screen.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { exportKeys } from '#keys/export/export-keys.ts';
import { requestKey, revealKey } from '#keys/lifecycle/own-keys.ts';
import { approveRequest } from '#keys/lifecycle/reviews.ts';
import { KEYS_TABLES } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { linkOf, makeAccounts, openPages, PEOPLE } from '#test/support/account.ts';
import {
  isTooWide,
  look as lookAt,
  makeVisits,
  SCREENS,
  type Screen,
  startChromium,
  tabThrough,
} from '#test/support/browser.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { NEVER, startProxy } from '#test/support/product.ts';
import { readMail, startMailServer } from '#test/support/servers/mail-server.ts';
import { startTcpProxy } from '#test/support/servers/tcp-proxy.ts';

/** The host of the images of the sample catalogue. */
const IMAGES = 'https://files.covers.example';
const RAW_KEY = /^cck_[0-9A-Za-z]{38}$/;
const MARKUP = `</textarea></script><script>alert(1)</script><img src=x onerror="alert(2)">' "&`;
const { owner, moderator } = PEOPLE;
/** An account whose name contains markup and is as long as possible. */
const evil = {
  id: 66,
  email: 'evil@covers.example',
  name: `${MARKUP}${'W'.repeat(255 - MARKUP.length)}`,
};

/** As the schedule and the proxy do every second or two. */
async function publishKeys(): Promise<void> {
  await exportKeys(database, snapshotsDir);
  await proxy.refresh();
}

const browser = await startChromium();
const databaseUrl = await makeAccounts();
const database = await openDatabase(databaseUrl);
atEndOfFile(() => database.close());
await database.run("INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, 'user')", [
  ...[evil.id, evil.email, evil.name],
]);
const snapshotsDir = await makeSampleSnapshots();
const mailbox = await startMailServer();
atEndOfFile(mailbox.stop);
const toPages = await startTcpProxy(() => pages.port);
atEndOfFile(() => toPages.stop());
const ACCOUNT_URL = `http://127.0.0.1:${toPages.port}`;
const proxy = await startProxy(snapshotsDir, { ACCOUNT_URL }, NEVER);
const pages = await openPages(
  databaseUrl,
  { SMTP_URL: mailbox.url, PUBLIC_URL: proxy.url },
  { pauseForApi: publishKeys },
);
const visits = makeVisits(browser, proxy.url);
const asOwner = await visits.open();
const asModerator = await visits.open();

const [LIGHT, , , DARK_PHONE] = SCREENS;
/** Checks a page on one screen, since all pages have the same parts. */
const look = (page: Page, name: string, screen: Screen = LIGHT) =>
  lookAt(page, `account-${name}`, [screen]);

async function signIn(page: Page, email: string): Promise<void> {
  await page.goto(`${proxy.url}/account/api-keys`);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: 'E-mail me a link' }).click();
  await page.getByRole('heading', { name: 'inbox' }).waitFor();
  await pages.sendMails();
  await page.goto(proxy.url + linkOf(mailsTo(email).at(-1) as string));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

async function request(page: Page, purpose: string): Promise<void> {
  await page.goto(`${proxy.url}/account/api-keys`);
  await page.getByLabel('What are you building?').fill(purpose);
  await page.getByLabel('Website of the project').fill('https://covers.example/project');
  await page.getByRole('button', { name: 'Request a key' }).click();
  await statusOf(page, 'request is sent');
}

const statusOf = (page: Page, text: string) =>
  page.getByRole('status').filter({ hasText: text }).waitFor();

/** The decoded e-mails to an address, oldest first. */
const mailsTo = (email: string) =>
  mailbox.mails.filter(({ to }) => to.includes(email)).map(({ source }) => readMail(source));

/** Sends what waits. @returns the e-mail to an address that contains a text */
async function mailWith(email: string, text: string): Promise<string> {
  await pages.sendMails();
  return mailsTo(email).find((mail) => mail.includes(text)) ?? '';
}

const shownKey = async (page: Page) => (await page.locator('#key').textContent()) as string;
const statusWith = async (key: string) => (await proxy.get('/stats', key)).status;

/** Everything that the programs have written: tables, files, logs, mails. */
async function everythingWritten(): Promise<string> {
  const kept = [pages.log(), proxy.log(), ...mailsTo(owner.email)];
  for (const table of Object.keys(KEYS_TABLES)) {
    kept.push(JSON.stringify(await database.rows(`SELECT * FROM ${table}`)));
  }
  for (const folder of [snapshotsDir, path.dirname(databaseUrl.slice('sqlite:'.length))]) {
    for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      kept.push(readFileSync(path.join(file.parentPath, file.name), 'latin1'));
    }
  }
  return kept.join('\n');
}

test('a key is requested, approved, revealed, used, rotated and revoked', {
  timeout: 120_000,
}, async () => {
  // The covers of the start page. Their host does not exist, and to look for it may take a minute.
  await asOwner.route(`${IMAGES}/**`, (route) => route.fulfill({ body: '' }));
  await asOwner.goto(`${proxy.url}/`);
  await asOwner.getByRole('link', { name: 'Request an API key' }).click();
  await look(asOwner, 'sign-in');
  await signIn(asOwner, owner.email);
  await request(asOwner, 'A browser extension.\nPlease 600 requests a minute: its lists are long.');
  await look(asOwner, 'requested', DARK_PHONE);
  await signIn(asModerator, moderator.email);
  await look(asModerator, 'moderation');
  await asModerator.getByLabel('Requests per minute').fill('600');
  await asModerator.getByRole('button', { name: 'Approve' }).click();
  await statusOf(asModerator, 'approved');

  const [link] = /http\S+/.exec(await mailWith(owner.email, 'is approved')) as RegExpExecArray;
  expect(link).toBe(`${proxy.url}/account/api-keys`);
  await asOwner.goto(link);
  await asOwner.getByRole('button', { name: 'Reveal key' }).click();
  const key = await shownKey(asOwner);
  expect(await statusWith(key)).toBe(200);
  expect(key).toMatch(RAW_KEY);
  await look(asOwner, 'revealed');
  const command = await asOwner.locator('#curl').textContent();
  const { stdout } = await promisify(execFile)('bash', ['-c', command ?? '']);
  expect(stdout).toContain('"games":');
  await asOwner.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await asOwner.getByRole('button', { name: 'Copy API key' }).click();
  await statusOf(asOwner, 'Copied');
  expect(await asOwner.evaluate('navigator.clipboard.readText()')).toBe(key);

  await asOwner.reload();
  await asOwner.getByRole('alert').filter({ hasText: 'only once' }).waitFor();
  expect(await asOwner.content()).not.toContain(key);
  await look(asOwner, 'refused', DARK_PHONE);
  await asOwner.goto(`${proxy.url}/account/api-keys`);
  expect(await asOwner.content()).not.toContain(key);
  expect(await asOwner.content()).toContain(key.slice(0, 8));
  await asOwner.locator('summary', { hasText: 'Rotate' }).click();
  await asOwner.locator('summary', { hasText: 'Revoke' }).click();
  await look(asOwner, 'revealed-before', DARK_PHONE);

  await asOwner.getByRole('button', { name: 'Rotate, end this key' }).click();
  const second = await shownKey(asOwner);
  expect([await statusWith(second), await statusWith(key)]).toEqual([200, 401]);
  // Going back does not show the page with the key: it is not kept in the browser's history.
  await asOwner.getByRole('link', { name: 'I’ve saved my key' }).click();
  await asOwner.getByRole('heading', { name: 'Your keys' }).waitFor();
  const wentBack = asOwner.waitForEvent('framenavigated');
  await asOwner.goBack().catch(() => {});
  await wentBack;
  expect(await asOwner.content()).not.toContain(second);

  await asModerator.goto(`${proxy.url}/moderation/api-keys`);
  await asModerator.getByRole('link', { name: 'Key 1' }).click();
  await look(asModerator, 'one-key', DARK_PHONE);
  await asModerator.getByLabel('Reason').fill('Seen in a public repository');
  await asModerator.getByRole('button', { name: 'Revoke key' }).click();
  await statusOf(asModerator, 'revoked');
  await publishKeys();
  expect(await statusWith(second)).toBe(401);
  expect(await mailWith(owner.email, 'Seen in a public repository')).not.toBe('');

  const kept = await everythingWritten();
  expect(kept.includes(second.slice(0, 8))).toBe(true);
  expect([key, second].filter((raw) => kept.includes(raw))).toEqual([]);
});

test('everything works with the keyboard, and the focus is always visible', async () => {
  await asOwner.goto(`${proxy.url}/account/api-keys`);
  const stops = await tabThrough(asOwner);
  expect(stops.filter(({ isVisible }) => !isVisible)).toEqual([]);
  const names = stops.map(({ name }) => name);
  expect(names[0]).toBe('Skip to the content');
  expect(names).toEqual(
    expect.arrayContaining(['API keys', 'Sign out', 'purpose', 'website_url', 'Request a key']),
  );
  await asOwner.locator('#purpose').focus();
  const { keyboard } = asOwner;
  await keyboard.type('Asked for without a mouse');
  await keyboard.press('Tab');
  await keyboard.type('https://covers.example/keys');
  await keyboard.press('Enter');
  await statusOf(asOwner, 'request is sent');
});

test('texts of strangers break neither the markup nor the width of a page', async () => {
  const stranger = await visits.open();
  await signIn(stranger, evil.email);
  await request(stranger, `${MARKUP}\n${'m'.repeat(3000)}`);
  await look(stranger, 'hostile', DARK_PHONE);
  await asModerator.goto(`${proxy.url}/moderation/api-keys`);
  await asModerator.getByText(MARKUP).first().waitFor();
  expect(await isTooWide(asModerator)).toBe(false);
  const decision = asModerator.locator('.card', { hasText: evil.email });
  await decision.getByLabel('Reason').fill(`${MARKUP}${'i'.repeat(500)}`);
  await decision.getByRole('button', { name: 'Reject' }).click();
  await statusOf(asModerator, 'rejected');
  await stranger.goto(`${proxy.url}/account/api-keys`);
  const reason = stranger.locator('dd', { hasText: `${MARKUP}iii` });
  await reason.waitFor();
  expect(await reason.isVisible()).toBe(true);
  await look(stranger, 'rejected');
  await asModerator.getByRole('link', { name: 'Request 3' }).first().click();
  await asModerator.getByText(`${MARKUP}iii`).first().waitFor();
  expect(await isTooWide(asModerator)).toBe(false);
  expect(await stranger.evaluate('document.querySelectorAll("main img, main script").length')).toBe(
    0,
  );
});

test('a higher limit is asked for, approved with another figure, and seen by the owner of the key', async () => {
  const { id } = await requestKey(database, {
    ...{ accountId: owner.id, purpose: 'A shelf', at: new Date() },
    websiteUrl: 'https://covers.example/shelf',
  });
  const review = { by: moderator.id, at: new Date(), publicUrl: proxy.url };
  await approveRequest(database, id, { limit: 120, ...review });
  await revealKey(database, { id, accountId: owner.id, at: new Date() });
  await asOwner.goto(`${proxy.url}/account/api-keys`);
  await asOwner.getByRole('link', { name: `Ask for a higher limit for key ${id}` }).click();
  await asOwner.getByLabel('Requests per minute').fill('600');
  await asOwner.getByLabel('Why do you need more?').fill('Its lists are long.');
  await look(asOwner, 'ask-higher-limit', DARK_PHONE);
  await asOwner.getByRole('button', { name: 'Ask for a higher limit' }).click();
  await statusOf(asOwner, 'request is sent');
  await look(asOwner, 'asked-higher-limit');

  await asModerator.goto(`${proxy.url}/moderation/api-keys`);
  const decision = asModerator.locator('.card', { hasText: 'Its lists are long.' });
  expect(await decision.getByLabel('Requests per minute').inputValue()).toBe('600');
  await look(asModerator, 'review-higher-limit', DARK_PHONE);
  await decision.getByLabel('Requests per minute').fill('300');
  await decision.getByRole('button', { name: 'Approve' }).click();
  await statusOf(asModerator, 'Approved');
  await asOwner.goto(`${proxy.url}/account/api-keys`);
  const card = asOwner.locator(`#key-${id}`);
  await card.getByText('History').click();
  await card.getByText('Limit changed by a moderator').waitFor();
  await look(asOwner, 'history');
  expect(await card.getByText('300 requests per minute').count()).toBe(2);
  expect(await mailWith(owner.email, `key ${id} has a higher limit`)).not.toBe('');
});

test('a refused sign-in of the site is explained on a page with the name and contact of the owner', async () => {
  const bySite = await openPages(databaseUrl, {
    SITE_JWT_SECRET: 'a secret of thirty-two bytes ...',
    SIGN_IN_URL: 'https://covers.example/login?next={return}',
    SITE_NAME: 'Capas do Sótão',
    SITE_CONTACT: 'ajuda@covers.example',
  });
  const visits = makeVisits(browser, bySite.url);
  const page = await visits.open();
  await page.goto(`${bySite.url}/account/api-keys`);
  await page.getByRole('link', { name: 'Go to Capas do Sótão' }).waitFor();
  await look(page, 'site-sign-in', DARK_PHONE);
  const cookie = { name: 'catalogue_assertion', value: 'x.y.z', url: bySite.url };
  await page.context().addCookies([cookie]);
  await page.goto(`${bySite.url}/account/api-keys`);
  await page.getByRole('alert').filter({ hasText: 'it has no valid signature' }).waitFor();
  await look(page, 'site-sign-in-refused');
  expect(visits.foreign).toEqual([]);
});

test('no page sent requests to other origins or violated its content security policy', () => {
  // The start page shows covers.
  expect(visits.foreign.filter((url) => !url.startsWith(`${IMAGES}/`))).toEqual([]);
  // A refused page has a status of 4xx, which the browser reports.
  const complaints = visits.complaints.filter((text) => !/status of 4\d\d/.test(text));
  expect(complaints).toEqual([]);
});
