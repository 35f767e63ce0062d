/** `ACCOUNTS=own`: a link to an address without an account creates one; otherwise nothing does. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { mailSignInLink } from '../../../keys/lifecycle/sign-in.ts';
import {
  ACCOUNTS,
  linksTo,
  makeAccounts,
  makeVisitor,
  type RunningPages,
  signIn,
  startPages,
  tokenOf,
  type Visitor,
} from '../../support/account.ts';
import { KINDS, makeDatabase } from '../../support/databases.ts';
import { makeFolder, runProgram, until } from '../../support/product.ts';

const LINK = '/account/sign-in/link';

describe.each(KINDS)('with ACCOUNTS=own, on %s', (kind) => {
  let pages: RunningPages;
  let database: Database;
  const mailFolder = path.join(makeFolder(), 'mail');
  beforeAll(async () => {
    const url = await makeDatabase(kind);
    // It creates all tables, that of accounts included.
    pages = await startPages(url, { ACCOUNTS: 'own', MAIL_FOLDER: mailFolder });
    database = await openDatabase(url);
  });
  afterAll(async () => {
    await pages.stop();
    await database.close();
  });

  async function askForLink(visitor: Visitor, email: string): Promise<string> {
    const before = linksTo(email, mailFolder).length;
    await visitor.get('/account/sign-in');
    expect((await visitor.post('/account/sign-in', { email })).status).toBe(200);
    await until(() => linksTo(email, mailFolder).length > before);
    return linksTo(email, mailFolder).at(-1) as string;
  }
  const accounts = () => database.rows('SELECT email, name, role FROM accounts ORDER BY id');

  test('a link creates an account once, and signs in to it', async () => {
    const visitor = makeVisitor(pages.url);
    const email = 'new.person@covers.example';
    const [first, second] = [await askForLink(visitor, email), await askForLink(visitor, email)];
    const page = await visitor.get(first);
    expect(page.text).toContain('<strong>new.person@covers.example</strong>');
    expect(page.text).toContain('value="new.person"');
    expect(await accounts()).toEqual([]);
    // A name that is refused does not use the link up.
    for (const name of ['', ' ', 'a\u200bb', 'x'.repeat(256)]) {
      const refused = await visitor.post(LINK, { link: tokenOf(first), name });
      expect([name, refused.status]).toEqual([name, 422]);
    }
    const name = `Nora </strong><script>alert(1)</script>`;
    expect((await visitor.post(LINK, { link: tokenOf(first), name })).status).toBe(303);
    expect(await accounts()).toEqual([[email, name, 'user']]);
    expect((await visitor.get('/account/api-keys')).text).not.toContain('<script>alert');
    // The second link signs in to the same account, whatever name its form has.
    const other = makeVisitor(pages.url);
    expect((await other.get(second)).text).not.toContain('Your name');
    expect((await other.post(LINK, { link: tokenOf(second), name: 'Eve' })).status).toBe(303);
    const late = makeVisitor(pages.url);
    await late.get(second);
    expect((await late.post(LINK, { link: tokenOf(second), name: 'Eve' })).status).toBe(410);
    expect(await accounts()).toHaveLength(1);
    await signIn(makeVisitor(pages.url), email, mailFolder);
  });

  test('links used at the same moment create one account', async () => {
    const visitors = [1, 2, 3].map(() => makeVisitor(pages.url));
    const email = 'Race@covers.example';
    const asked: { visitor: Visitor; link: string }[] = [];
    for (const visitor of visitors) asked.push({ visitor, link: await askForLink(visitor, email) });
    for (const { visitor, link } of asked) await visitor.get(link);
    const replies = await Promise.all(
      asked.map(({ visitor, link }, index) =>
        visitor.post(LINK, { link: tokenOf(link), name: `Number ${index}` }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual([303, 303, 303]);
    expect((await accounts()).filter(([to]) => to === email)).toHaveLength(1);
  });

  test('an address gets three links in 15 minutes, and all together 200', async () => {
    const at = new Date('2026-03-04T05:06:07Z');
    const ask = (email: string, minutes = 0) =>
      mailSignInLink(database, email, {
        at: new Date(at.getTime() + minutes * 60_000),
        maySignUp: true,
        publicUrl: 'https://covers.example',
      });
    await database.run('DELETE FROM sign_in_links');
    const flood = await Promise.all(Array.from({ length: 9 }, () => ask('flood@covers.example')));
    expect(flood.filter(Boolean)).toHaveLength(3);
    expect(await ask('FLOOD@covers.example')).toBe(false);
    expect(await ask('not an address')).toBe(false);
    expect(await ask('a@b.example\r\nBcc: c@d.example')).toBe(false);
    let others = 0;
    for (let i = 0; i < 220; i++) if (await ask(`${i}@flood.example`)) others++;
    expect(others).toBe(197);
    expect(await ask('late@covers.example')).toBe(false);
    expect(await ask('late@covers.example', 15)).toBe(true);
  });
});

test('with ACCOUNTS=site, an address without an account gets nothing, and the page says why', async () => {
  const url = await makeDatabase('sqlite');
  await makeAccounts(url);
  const mailFolder = path.join(makeFolder(), 'mail');
  const pages = await startPages(url, {
    MAIL_FOLDER: mailFolder,
    SITE_URL: 'https://site.example',
  });
  const visitor = makeVisitor(pages.url);
  expect((await visitor.get('/account/sign-in')).text).toContain('href="https://site.example"');
  await visitor.post('/account/sign-in', { email: 'stranger@covers.example' });
  await signIn(makeVisitor(pages.url), ACCOUNTS.owner.email, mailFolder);
  expect(linksTo('stranger@covers.example', mailFolder)).toEqual([]);
  await pages.stop();
});

test('ACCOUNTS=own is refused with accounts of the site', async () => {
  const url = await makeDatabase('sqlite');
  const start = (environment: Record<string, string>) =>
    runProgram('keys/account/main.ts', [], { DATABASE_URL: url, ACCOUNTS: 'own', ...environment });
  const signed = await start({ SITE_JWT_SECRET: randomBytes(32).toString('hex') });
  expect([signed.code, signed.stderr]).toEqual([
    2,
    expect.stringContaining('ACCOUNTS cannot be own with SITE_JWT_SECRET or SITE_JWKS'),
  ]);
  const database = await openDatabase(url);
  await database.run(
    "CREATE VIEW accounts AS SELECT 1 AS id, 'a@b.c' AS email, 'A' AS name, 'user' AS role",
  );
  await database.close();
  const view = await start({});
  expect([view.code, view.stderr]).toEqual([2, expect.stringContaining('"accounts" is a view')]);
});
