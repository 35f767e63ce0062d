/** The account pages if the site signs users in: valid assertions, and forged ones. */
import { SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  makeAccounts,
  makeVisitor,
  type OwnPages,
  openPages,
  PEOPLE,
  type Visitor,
} from '../../support/account.ts';
import { makeDatabase } from '../../support/databases.ts';
import { makeFolder } from '../../support/product.ts';

const KEYS = '/account/api-keys';
const SECRET = 'a secret of thirty-two bytes ...';
const { owner, moderator } = PEOPLE;
let pages: OwnPages;

beforeAll(async () => {
  const databaseUrl = await makeDatabase('sqlite');
  await makeAccounts(databaseUrl);
  pages = await openPages(databaseUrl, {
    SITE_JWT_SECRET: SECRET,
    SITE_URL: 'https://covers.example',
    PUBLIC_URL: 'https://api.covers.example',
    MAIL_FOLDER: makeFolder(),
  });
});

afterAll(async () => {
  await pages?.stop();
});

function sign(claims: object, secret = SECRET): Promise<string> {
  const soon = Math.floor(Date.now() / 1000) + 60;
  return new SignJWT({ aud: 'cover-catalogue-api', exp: soon, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(secret));
}

/** A visitor with the site's cookie, besides the cookies of these pages. */
async function visitorAs(id: number): Promise<Visitor> {
  const visitor = makeVisitor(pages.url);
  visitor.cookies.set('catalogue_assertion', await sign({ sub: String(id) }));
  return visitor;
}

describe('a user whom the site has signed in', () => {
  test('requests a key, and a moderator of the site approves it', async () => {
    const user = await visitorAs(owner.id);
    const first = await user.get(KEYS);
    expect(first.text).toContain(owner.name);
    expect(first.text).not.toContain('Sign out');
    expect(first.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-catalogue_visit=[\w-]{43}; Max-Age=86400; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
    const fields = { purpose: 'A test', website_url: 'https://a.example' };
    expect((await user.post(KEYS, fields)).status).toBe(303);
    const reviewer = await visitorAs(moderator.id);
    await reviewer.get('/moderation/api-keys');
    const approved = await reviewer.post('/moderation/api-keys/1/approve', { limit: '60' });
    expect(approved.status).toBe(303);
    await user.get(KEYS);
    expect((await user.post(`${KEYS}/1/reveal`)).text).toMatch(/cck_[0-9A-Za-z]{38}/);
  });

  test('is also recognised by an assertion in a header field', async () => {
    const authorization = `Bearer ${await sign({ sub: String(owner.id) })}`;
    const { status, text } = await makeVisitor(pages.url).get(KEYS, { authorization });
    expect([status, text.includes(owner.name)]).toEqual([200, true]);
  });

  test('cannot use the form token of another account', async () => {
    const visitor = await visitorAs(owner.id);
    const before = await visitor.get(KEYS);
    const token = /name="token" value="([^"]*)"/.exec(before.text)?.[1] as string;
    visitor.cookies.set('catalogue_assertion', await sign({ sub: String(moderator.id) }));
    const fields = { token, purpose: 'A test', website_url: 'https://a.example' };
    expect((await visitor.post(KEYS, fields)).status).toBe(403);
  });
});

describe('nobody is signed in', () => {
  const now = Math.floor(Date.now() / 1000);
  test.each([
    ['expired', () => sign({ sub: '9', exp: now - 60 })],
    ['for another audience', () => sign({ sub: '9', aud: 'another' })],
    ['signed with another key', () => sign({ sub: '9' }, 'another secret of thirty-two bytes')],
    ['about an account that does not exist', () => sign({ sub: '12345' })],
    ['unsigned', async () => new UnsecuredJWT({ sub: '9', exp: now + 60 }).encode()],
    ['not a JWT', async () => '9'],
  ])('by an assertion that is %s', async (_name, make) => {
    const assertion = await make();
    const visitor = makeVisitor(pages.url);
    expect((await visitor.get(KEYS, { authorization: `Bearer ${assertion}` })).status).toBe(303);
    visitor.cookies.set('catalogue_assertion', assertion);
    expect((await visitor.get(KEYS)).status).toBe(303);
  });

  test.each(['09', '0x9', '9.0'])('as account 9 by an assertion about "%s"', async (sub) => {
    const authorization = `Bearer ${await sign({ sub })}`;
    expect((await makeVisitor(pages.url).get(KEYS, { authorization })).status).toBe(303);
  });

  test('by header fields without a signature', async () => {
    const claims = ['x-user', 'x-user-id', 'x-forwarded-user', 'x-account-id', 'remote-user'];
    const headers = Object.fromEntries(claims.map((name) => [name, String(moderator.id)]));
    expect((await makeVisitor(pages.url).get(KEYS, headers)).status).toBe(303);
  });

  test('by a mailed link, because only the site signs users in', async () => {
    const visitor = makeVisitor(pages.url);
    const page = await visitor.get('/account/sign-in');
    expect(page.text).toContain('href="https://covers.example"');
    const reply = await visitor.post('/account/sign-in', { email: owner.email });
    expect(reply.status).toBe(405);
    expect((await visitor.get('/account/sign-in/link?token=abcdefghijklmnopqrstuvwx')).status).toBe(
      404,
    );
  });
});
