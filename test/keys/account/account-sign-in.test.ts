/** Signing in to the account pages by mailed links. */
import { describe, expect, test } from 'vitest';
import {
  linksTo,
  mailedLink,
  mailsIn,
  PEOPLE,
  requestLink,
  signIn,
  tokenOf,
} from '#test/support/account.ts';
import { KEYS, MODERATION, openAccountSite } from './account-people.ts';

const { owner, other, moderator } = PEOPLE;

const site = await openAccountSite();

describe('signing in', () => {
  test('is required: other visitors are redirected to it', async () => {
    const visitor = site.visit();
    const back = (path: string) => `/account/sign-in?return=${encodeURIComponent(path)}`;
    for (const [target, location] of [
      ['/account', KEYS],
      [KEYS, '/account/sign-in'],
      [`${KEYS}?limit-of=3`, back(`${KEYS}?limit-of=3`)],
      [MODERATION, back(MODERATION)],
      [`${MODERATION}/1`, back(`${MODERATION}/1`)],
    ] as const) {
      const { status, headers } = await visitor.get(target);
      expect([status, headers.get('location')]).toEqual([303, location]);
    }
    expect((await visitor.post(`${KEYS}/1/reveal`)).status).toBe(401);
  });

  test('sends mail only to addresses of accounts, and refuses what is not an address', async () => {
    const visitor = site.visit();
    const ask = (email: string) => visitor.post('/account/sign-in', { email });
    const before = linksTo(other.email, site.mailFolder).length;
    const mails = mailsIn(site.mailFolder).length;
    for (const email of ['nobody@covers.example', other.email]) {
      expect((await ask(email)).status).toBe(200);
    }
    await mailedLink(other.email, site.mailFolder, before + 1);
    expect(mailsIn(site.mailFolder).length).toBe(mails + 1);
    for (const email of ['', 'x', 'a@b\r\nBcc: c@d', 'a b@c']) {
      expect((await ask(email)).status).toBe(422);
    }
  });

  test('needs the button on the page of the link, which works once; opening the link changes nothing', async () => {
    const visitor = site.visit();
    const link = await requestLink(visitor, other.email, site.mailFolder);
    for (let times = 0; times < 3; times++) expect((await visitor.get(link)).status).toBe(200);
    expect((await visitor.get(KEYS)).status).toBe(303);
    const press = () => visitor.post('/account/sign-in/link', { link: tokenOf(link) });
    const reply = await press();
    expect(reply.status).toBe(303);
    expect(reply.headers.getSetCookie()[0]).toMatch(
      /^catalogue_session=[\w-]{20,}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const late = site.visit();
    expect((await late.post('/account/sign-in/link', { link: tokenOf(link) })).status).toBe(410);
    expect((await late.get(KEYS)).status).toBe(303);
  });

  test('by a link of which a part is missing is refused with the reason', async () => {
    for (const cut of ['', '?token=', `?token=${'a'.repeat(42)}`, '?token=%00<b>']) {
      const { status, text } = await site.visit().get(`/account/sign-in/link${cut}`);
      expect([cut, status]).toEqual([cut, 400]);
      expect(text).toContain('This link is not complete.');
      expect(text).toContain('E-mail me a link');
    }
  });

  test('replaces and ends a session that an attacker planted', async () => {
    const attacker = site.visit();
    await signIn(attacker, other.email, site.mailFolder);
    const theirs = attacker.cookies.get('catalogue_session') as string;
    for (const planted of [theirs, 'planted-and-unknown']) {
      const victim = site.visit();
      const link = await requestLink(victim, owner.email, site.mailFolder);
      victim.cookies.set('catalogue_session', planted);
      await victim.get(link);
      const fields = { link: tokenOf(link) };
      expect((await victim.post('/account/sign-in/link', fields)).status).toBe(303);
      expect(victim.cookies.get('catalogue_session')).not.toBe(planted);
      expect((await victim.get(KEYS)).text).toContain(owner.name);
      const thief = site.visit();
      thief.cookies.set('catalogue_session', planted);
      expect((await thief.get(KEYS)).status).toBe(303);
    }
  });

  test('is undone by signing out, also for a copy of the cookie', async () => {
    const visitor = site.visit();
    await signIn(visitor, other.email, site.mailFolder);
    const session = visitor.cookies.get('catalogue_session') as string;
    expect((await visitor.post('/account/sign-out')).status).toBe(303);
    expect(visitor.cookies.has('catalogue_session')).toBe(false);
    visitor.cookies.set('catalogue_session', session);
    expect((await visitor.get(KEYS)).status).toBe(303);
  });

  test('gives back the text of a form that was sent after the session had ended', async () => {
    const visitor = site.visit();
    await signIn(visitor, moderator.email, site.mailFolder);
    await site.query('DELETE FROM sessions WHERE account_id = ?', [moderator.id]);
    const fields = { purpose: 'A text\n& more', website_url: 'https://a.example/', name: '' };
    const { status, text } = await visitor.post(KEYS, fields);
    expect(status).toBe(401);
    expect(text).toContain('<h1>Sign in again</h1>');
    expect(text).toContain('<dd>A text\n&amp; more</dd>');
    const stored = 'SELECT purpose FROM api_keys WHERE account_id = ?';
    expect(await site.query(stored, [moderator.id])).toEqual([]);
  });
});
