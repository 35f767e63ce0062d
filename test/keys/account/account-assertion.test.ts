/** The account pages if the site signs users in: valid assertions, and forged ones. */
import { SignJWT } from 'jose';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { makeRefusalLog, RefusedAssertion } from '#keys/account/visitors/assertion.ts';
import { DatabaseLockedError } from '#lib/database/database.ts';
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
const SIGN_IN = '/account/sign-in';
const pages = await openPages(await makeAccounts(), {
  SITE_JWT_SECRET: SECRET,
  SIGN_IN_URL: 'https://covers.example/login?next={return}&from=api',
  SITE_CONTACT: 'help@covers.example',
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

test.each([
  ['away', () => true, new Error('The server is gone.')],
  ['locked', (sql = '') => sql !== 'SELECT 1', new DatabaseLockedError('It is locked.')],
])('while the database is %s, the answer is 503', async (_, isRefused, error) => {
  let isAway = false;
  const away = await openPages(
    await makeAccounts(),
    { SITE_JWT_SECRET: SECRET, SITE_URL: 'https://covers.example', MAIL_FOLDER: makeFolder() },
    {
      openDatabase: async (url) =>
        intercept(await openDatabase(url), (...[sql]) => {
          if (isAway && isRefused(sql)) throw error;
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
  const reply = await visitor.post('/account/sign-in', { email: owner.email });
  expect(reply.status).toBe(405);
  expect((await visitor.get('/account/sign-in/link?token=abcdefghijklmnopqrstuvwx')).status).toBe(
    404,
  );
});

describe('an assertion that is refused', () => {
  const now = Math.floor(Date.now() / 1000);
  const sub = String(owner.id);
  const BUTTON = 'href="https://covers.example/login?next=';
  const CONTACT = '<a href="mailto:help@covers.example">Tell us</a>';
  const lastLine = (): { reason?: string; msg?: string } =>
    JSON.parse(pages.log().trim().split('\n').at(-1) ?? '');
  /** The response of the sign-in page, and the last line of the log. */
  async function visitWith(assertion: string) {
    const visitor = makeVisitor(pages.url, ORIGIN);
    visitor.cookies.set('catalogue_assertion', assertion);
    expect((await visitor.get(KEYS)).headers.get('location')).toBe(SIGN_IN);
    const { status, text } = await visitor.get(SIGN_IN);
    const { reason, msg } = lastLine();
    expect(pages.log()).not.toContain(assertion);
    return { status, text, reason, msg };
  }

  test.each<[claims: object, reason: string, words: string, msg: string]>([
    [
      { sub, aud: 'another-service' },
      'audience',
      'it is meant for another service.',
      'its "aud" is "another-service", not "cover-catalogue-api"',
    ],
    [
      { sub: '4711' },
      'account',
      'your account there is not known here.',
      'no account has the id 4711',
    ],
    [
      { sub: 'ola' },
      'claims',
      'it is not complete.',
      'its "sub" "ola" is not the id of an account',
    ],
    [{ sub, exp: undefined }, 'claims', 'it is not complete.', 'missing required "exp" claim'],
  ])(
    'as %j shows its reason, and leads to no sign-in that cannot help',
    async (claims, reason, words, msg) => {
      const shown = await visitWith(await sign(claims));
      expect(shown).toMatchObject({ status: 401, reason, msg: expect.stringContaining(msg) });
      expect(shown.text).toMatch(new RegExp(`role="alert">[^<]*${words}`));
      expect(shown.text).toContain(CONTACT);
      expect(shown.text).not.toContain(BUTTON);
    },
  );

  test('for its signature does not bring its values into the log', async () => {
    const forged = await sign({ sub, aud: 'of a stranger' }, 'another secret of 32 bytes ....');
    const shown = await visitWith(forged);
    expect(shown).toMatchObject({ status: 401, reason: 'signature' });
    expect(shown.text).toContain('it has no valid signature.');
    expect(pages.log()).not.toContain('of a stranger');
  });

  test('because it has expired leads to the site again, with one click and no redirect', async () => {
    const shown = await visitWith(await sign({ sub, exp: now - 60 }));
    expect(shown).toMatchObject({ status: 401, reason: 'expired' });
    expect(shown.msg).toMatch(/its "exp" is \d+, and it is \d+ now/);
    expect(shown.text).toContain('Your sign-in at the catalogue’s website has expired.');
    const back = encodeURIComponent(`${ORIGIN}${KEYS}`);
    expect(shown.text).toContain(`${BUTTON}${back}&amp;from=api"`);
  });

  test('because there are two is named, as of cookies of two domains', async () => {
    const cookie = `catalogue_assertion=${await sign({ sub })}`;
    const both = { cookie: `${cookie}; ${cookie}` };
    const { status, text } = await makeVisitor(pages.url, ORIGIN).get(SIGN_IN, both);
    expect([status, lastLine()]).toMatchObject([401, { reason: 'several' }]);
    expect(text).toContain('has sent two at once.');
  });
});

test('after signing in at the site, visitors are where they wanted to be', async () => {
  const wanted = `/moderation/api-keys/1`;
  const visitor = makeVisitor(pages.url, ORIGIN);
  const location = (await visitor.get(wanted)).headers.get('location') ?? '';
  const page = await visitor.get(location);
  expect(page.status).toBe(200);
  expect(page.text).toContain(`next=${encodeURIComponent(ORIGIN + wanted)}&amp;from=api"`);
  expect(page.text).toContain('and you come back here.');
  const signedIn = await visitorAs(moderator.id);
  expect((await signedIn.get(location)).headers.get('location')).toBe(wanted);
  for (const foreign of [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '@evil.example',
  ]) {
    const target = `${SIGN_IN}?return=${encodeURIComponent(foreign)}`;
    expect((await visitor.get(target)).text).toContain(encodeURIComponent(`${ORIGIN}${KEYS}`));
    expect((await signedIn.get(target)).headers.get('location')).toBe(KEYS);
  }
});

test('no flood of refused assertions fills the log, and the next minute is logged again', () => {
  const lines: { reason: string; msg: string }[] = [];
  let now = 0;
  const note = makeRefusalLog(
    pino({}, { write: (line) => lines.push(JSON.parse(line)) }),
    () => now,
  );
  const refuse = () => {
    for (let i = 0; i < 100; i++) note(new RefusedAssertion('signature', `no. ${i}`));
  };
  refuse();
  expect(lines).toHaveLength(60);
  expect(lines.at(-1)?.msg).toBe(
    'A JWT of the site is refused: no. 59. Others of this minute are not logged.',
  );
  now += 60_000;
  refuse();
  expect(lines).toHaveLength(120);
});
