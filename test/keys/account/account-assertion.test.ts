/** The account pages if the site signs users in: valid assertions, and forged ones. */
import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { intercept } from '#test/keys/keys-database.ts';
import {
  makeAccounts,
  makeVisitor,
  openPages,
  PEOPLE,
  type Visitor,
} from '#test/support/account.ts';
import { makeFolder } from '#test/support/product.ts';

/** Of the pages, for browsers. */
const ORIGIN = 'https://api.covers.example';
const KEYS = '/account/api-keys';
const SECRET = 'a secret of thirty-two bytes ...';
const { owner, moderator } = PEOPLE;
const pages = await openPages(await makeAccounts(), {
  SITE_JWT_SECRET: SECRET,
  SITE_URL: 'https://covers.example',
  PUBLIC_URL: ORIGIN,
  MAIL_FOLDER: makeFolder(),
});

function sign(claims: object, secret = SECRET): Promise<string> {
  const soon = Math.floor(Date.now() / 1000) + 60;
  return new SignJWT({ aud: 'cover-catalogue-api', exp: soon, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(secret));
}

/** A visitor with the site's cookie, besides the cookies of these pages. */
async function visitorAs(id: number): Promise<Visitor> {
  const visitor = makeVisitor(pages.url, ORIGIN);
  visitor.cookies.set('catalogue_assertion', await sign({ sub: String(id) }));
  return visitor;
}

describe('a user whom the site has signed in', () => {
  test('requests a key, and a moderator of the site approves it', async () => {
    const user = await visitorAs(owner.id);
    const first = await user.get(KEYS);
    expect(first.text).toContain(owner.name);
    expect(first.text).not.toContain('Sign out');
    expect(first.headers.getSetCookie()).toEqual([]);
    const fields = { purpose: 'A test', website_url: 'https://a.example' };
    expect((await user.post(KEYS, fields)).status).toBe(303);
    const reviewer = await visitorAs(moderator.id);
    const approved = await reviewer.post('/moderation/api-keys/1/approve', { limit: '60' });
    expect(approved.status).toBe(303);
  });

  test('is also recognised by an assertion in a header field', async () => {
    const authorization = `Bearer ${await sign({ sub: String(owner.id) })}`;
    const { status, text } = await makeVisitor(pages.url).get(KEYS, { authorization });
    expect([status, text.includes(owner.name)]).toEqual([200, true]);
  });
});

test('while the database is away, the answer is 503', async () => {
  let isAway = false;
  const away = await openPages(
    await makeAccounts(),
    { SITE_JWT_SECRET: SECRET, SITE_URL: 'https://covers.example', MAIL_FOLDER: makeFolder() },
    {
      openDatabase: async (url) =>
        intercept(await openDatabase(url), () => {
          if (isAway) throw new Error('The server is gone.');
        }),
    },
  );
  const visitor = makeVisitor(away.url);
  visitor.cookies.set('catalogue_assertion', await sign({ sub: String(owner.id) }));
  expect((await visitor.get(KEYS)).status).toBe(200);
  isAway = true;
  const { status, headers, text } = await visitor.get(KEYS);
  expect([status, headers.get('retry-after')]).toEqual([503, '60']);
  expect(text).toContain('Try again in a minute');
});

test('nobody is signed in by a mailed link, because only the site signs users in', async () => {
  const visitor = makeVisitor(pages.url, ORIGIN);
  const page = await visitor.get('/account/sign-in');
  expect(page.text).toContain('href="https://covers.example"');
  const reply = await visitor.post('/account/sign-in', { email: owner.email });
  expect(reply.status).toBe(405);
  expect((await visitor.get('/account/sign-in/link?token=abcdefghijklmnopqrstuvwx')).status).toBe(
    404,
  );
});
