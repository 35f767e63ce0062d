/**
 * The whole life of a key of somebody new, in a real browser and through the port of the proxy: an
 * account by e-mail, a trial key, an edited request, its approval, a rotation with an overlap, and the
 * end. The scheduled export runs, and e-mails are files.
 */
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { createKeysTables } from '../../../keys/tables/schema.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { linksTo, mailsIn, type RunningSite, startSite } from '../../support/account.ts';
import {
  type Chromium,
  look as lookAt,
  makeVisits,
  screensFor,
  startChromium,
  type Visits,
} from '../../support/browser.ts';
import { makeDatabase } from '../../support/databases.ts';
import { makeFolder, type RunningProxy, runProgram, until } from '../../support/product.ts';
import { IS_SOAK } from '../../support/rounds.ts';

const look = (page: Page, name?: string) => lookAt(page, name, screensFor(IS_SOAK));
const MARKUP = `</textarea><script>alert(1)</script><img src=x>' "&`;
const NEWCOMER = 'nora@covers.example';
const MODERATOR = 'mo@covers.example';

describe('a key of somebody new', { timeout: 180_000 }, () => {
  let databaseUrl: string;
  let browser: Chromium;
  let proxy: RunningProxy;
  let site: RunningSite;
  let visits: Visits;
  const mailFolder = path.join(makeFolder(), 'mail');

  beforeAll(async () => {
    browser = await startChromium();
    databaseUrl = await makeDatabase('sqlite');
    const database = await openDatabase(databaseUrl);
    await createKeysTables(database);
    await loadCatalogue(database, { ...sampleCatalogue(), accounts: [] });
    await database.close();
    site = await startSite(databaseUrl, {
      MAIL_FOLDER: mailFolder,
      ACCOUNTS: 'own',
      TRIAL_KEYS: 'on',
    });
    ({ proxy } = site);
    visits = makeVisits(browser, proxy.url);
    const added = await runProgram(
      'keys/cli/main.ts',
      ['add-account', MODERATOR, '--name', 'Mo', '--role', 'moderator'],
      { DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: site.snapshotsDir },
    );
    expect(added.code).toBe(0);
  }, 60_000);

  afterAll(async () => {
    await site?.stop();
    await browser?.close();
  });

  async function openLink(page: Page, email: string): Promise<void> {
    const before = linksTo(email, mailFolder).length;
    await page.goto(`${proxy.url}/account/api-keys`);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'E-mail me a link' }).click();
    await page.getByRole('heading', { name: 'Check your inbox' }).waitFor();
    await until(() => linksTo(email, mailFolder).length > before);
    await page.goto(proxy.url + linksTo(email, mailFolder).at(-1));
  }

  async function join(page: Page, email: string, name: string): Promise<void> {
    await openLink(page, email);
    await page.getByLabel('Your name').fill(name);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Your keys' }).waitFor();
  }

  const toKeys = (page: Page) => page.goto(`${proxy.url}/account/api-keys`);
  const shownKey = async (page: Page) => (await page.locator('#key').textContent()) as string;
  const isDone = (page: Page, text: string) =>
    page.getByRole('status').filter({ hasText: text }).waitFor();
  const limitOf = async (key: string) => {
    const { status, headers } = await proxy.get('/stats', key);
    return status === 200 ? Number(headers['x-ratelimit-limit']) : status;
  };

  test('begins with a trial, and gets its full limit, a successor and an end', async () => {
    const page = await visits.open();
    await toKeys(page);
    await look(page);
    await join(page, NEWCOMER, `Nora ${MARKUP}`);
    await look(page);
    await page.getByText('request your first one below').waitFor();
    await page.getByLabel('What are you building?').fill(`A shelf\n${MARKUP}`);
    await page.getByLabel('Website of the project').fill('https://shelf.example');
    await page.getByRole('button', { name: 'Get a trial key' }).click();
    const trial = await shownKey(page);
    // It works when it is shown.
    expect(await limitOf(trial)).toBe(30);
    expect(await page.getByText('within a few seconds').count()).toBe(0);
    await look(page, 'life-trial-key');
    await page.getByRole('link', { name: 'I’ve saved my key' }).click();

    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Requests per minute').fill('600');
    await page.getByLabel('Name of the key').fill(MARKUP);
    await look(page);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await isDone(page, 'Your changes are saved');
    await look(page, 'life-trial');

    const moderator = await visits.open();
    await openLink(moderator, MODERATOR);
    await moderator.getByRole('button', { name: 'Sign in' }).click();
    await moderator.getByRole('heading', { name: 'Waiting for review' }).waitFor();
    await look(moderator, 'life-review');
    expect(await moderator.getByLabel('Requests per minute').inputValue()).toBe('600');
    await moderator.getByRole('button', { name: 'Approve' }).click();
    await isDone(moderator, 'Approved');
    await until(async () => (await limitOf(trial)) === 600);
    await until(() => mailsIn(mailFolder).some((mail) => mail.includes('has its full limit')));

    const database = await openDatabase(databaseUrl);
    for (const [day, requests, refused] of [
      [0, 812, 20],
      [1, 400, 0],
      [9, 90, 0],
    ]) {
      const date = new Date(Date.now() - day * 24 * 3_600_000).toISOString().slice(0, 10);
      await database.run("INSERT INTO key_usage VALUES (1, ?, 'a', ?, 5, ?, 98765)", [
        ...[date, requests, refused],
      ]);
    }
    await database.close();
    await toKeys(page);
    await page.locator('summary', { hasText: 'Rotate' }).click();
    await page.getByLabel('The old key').selectOption({ label: 'Works for 1 more day' });
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByText('Your old key works until').waitFor();
    const successor = await shownKey(page);
    expect(await limitOf(successor)).toBe(600);
    await look(page);
    expect(await limitOf(trial)).toBe(600);
    await toKeys(page);
    await page.locator('summary', { hasText: 'History' }).click();
    await page.getByText('Approved by a moderator').waitFor();
    await look(page, 'life-overlap');
    await page.getByRole('button', { name: 'Stop the old key now' }).click();
    await isDone(page, 'The old key stops working');
    await until(async () => (await limitOf(trial)) === 401);
    expect(await limitOf(successor)).toBe(600);

    await page.locator('summary', { hasText: 'Rename' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Shelf, production');
    await page.getByRole('button', { name: 'Save name' }).click();
    await isDone(page, 'The name is saved');
    await page.getByRole('heading', { name: 'Shelf, production' }).waitFor();
    await page.locator('summary', { hasText: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await isDone(page, 'The key is revoked');
    await until(async () => (await limitOf(successor)) === 401);
    await look(page, 'life-ended');
    expect(await page.getByRole('heading', { name: 'Shelf, production' }).isVisible()).toBe(false);
    await page.locator('summary', { hasText: 'Revoked, rejected and withdrawn (1)' }).click();
    expect(await page.getByRole('heading', { name: 'Shelf, production' }).isVisible()).toBe(true);
    await page.getByText('You can send another').waitFor({ state: 'hidden' });
    // The session ends while a form is filled in, and what was typed comes back.
    await page.getByLabel('What are you building?').fill(`Two lines\n${MARKUP}`);
    await page.getByLabel('Website of the project').fill('https://shelf.example');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Request a key' }).click();
    await page.getByRole('heading', { name: 'Sign in again' }).waitFor();
    expect(await page.locator('dd').first().textContent()).toBe(`Two lines\n${MARKUP}`);
    await look(page, IS_SOAK ? 'life-form-again' : undefined);
    const raw = [trial, successor].filter((key) => mailsIn(mailFolder).join().includes(key));
    expect(raw).toEqual([]);
  });

  test('is requested, tried and withdrawn without scripts', async () => {
    const page = await visits.open({ javaScriptEnabled: false });
    await join(page, 'plain@covers.example', 'Pat');
    await page.getByLabel('What are you building?').fill('A reader for the terminal');
    await page.getByLabel('Website of the project').fill('https://reader.example');
    await page.getByRole('button', { name: 'Get a trial key' }).click();
    const key = await shownKey(page);
    expect(await limitOf(key)).toBe(30);
    await toKeys(page);
    await page.locator('summary', { hasText: 'Withdraw' }).click();
    await page.getByRole('button', { name: 'Withdraw request' }).click();
    await isDone(page, 'The request is withdrawn');
    await until(async () => (await limitOf(key)) === 401);
    // There is one trial in 30 days.
    expect(await page.getByRole('button', { name: 'Get a trial key' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Request a key' }).count()).toBe(1);
  });

  test('no page sent requests to other origins or violated its content security policy', () => {
    expect(visits.foreign).toEqual([]);
    expect(visits.complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
  });
});
