/** The pages of API keys over HTTP, as people with and without manners use them, on both databases. */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../database/open.ts';
import {
  ACCOUNTS,
  linkOf,
  linksTo,
  mailsIn,
  makeAccounts,
  makeVisitor,
  type RunningPages,
  signIn,
  startPages,
  tokenOf,
  type Visitor,
} from './account.ts';
import { KINDS, makeDatabase } from './databases.ts';
import { makeFolder, until } from './product.ts';

const KEYS = '/account/api-keys';
const MODERATION = '/moderation/api-keys';
const RAW_KEY = /cck_[0-9A-Za-z]{38}/;
const HOSTILE = `</textarea><script>alert(1)</script><img src=x onerror="alert(2)">' "&`;
const { owner, other, moderator } = ACCOUNTS;

describe.each(KINDS)('on %s', async (kind) => {
  const databaseUrl = await makeDatabase(kind);
  const mailFolder = path.join(makeFolder(), 'mail');
  let pages: RunningPages;
  let people: Record<keyof typeof ACCOUNTS, Visitor>;

  test('the pages start, and each account signs in by a mailed link', async () => {
    await makeAccounts(databaseUrl);
    pages = await startPages(databaseUrl, { MAIL_FOLDER: mailFolder });
    people = {
      owner: makeVisitor(pages.url),
      other: makeVisitor(pages.url),
      moderator: makeVisitor(pages.url),
    };
    for (const [name, visitor] of Object.entries(people)) {
      const { email, name: shown } = ACCOUNTS[name as keyof typeof ACCOUNTS];
      await signIn(visitor, email, mailFolder);
      expect((await visitor.get(KEYS)).text).toContain(shown);
    }
  });

  /** Asks for a key and returns its id. */
  async function request(visitor: Visitor, fields: Record<string, string> = {}): Promise<number> {
    await visitor.get(KEYS);
    const asked = { purpose: 'A test', website_url: 'https://a.example', ...fields };
    const reply = await visitor.post(KEYS, asked);
    expect([reply.status, reply.headers.get('location')]).toEqual([303, `${KEYS}?done=requested`]);
    const ids = [...(await visitor.get(KEYS)).text.matchAll(/id="key-(\d+)"/g)];
    return Math.max(...ids.map(([, id]) => Number(id)));
  }

  async function decide(id: number, action: string, fields: Record<string, string>) {
    await people.moderator.get(`${MODERATION}/${id}`);
    return people.moderator.post(`${MODERATION}/${id}/${action}`, fields);
  }

  async function stateOf(id: number): Promise<unknown> {
    return (await query('SELECT state FROM api_keys WHERE id = ?', [id]))[0]?.[0];
  }

  async function query(sql: string, values: (string | number)[] = []) {
    const database = await openDatabase(databaseUrl);
    const rows = await database.rows(sql, values);
    await database.close();
    return rows;
  }

  describe('signing in', () => {
    test('is where whoever is not signed in is sent', async () => {
      const visitor = makeVisitor(pages.url);
      for (const target of ['/account', KEYS, MODERATION, `${MODERATION}/1`]) {
        const { status, headers } = await visitor.get(target);
        expect([status, headers.get('location')]).toEqual([
          303,
          target === '/account' ? KEYS : '/account/sign-in',
        ]);
      }
      expect((await visitor.post(`${KEYS}/1/reveal`)).status).toBe(401);
    });

    test('says the same of every address, and mails only those of accounts', async () => {
      const visitor = makeVisitor(pages.url);
      const ask = async (email: string) => {
        await visitor.get('/account/sign-in');
        return visitor.post('/account/sign-in', { email });
      };
      const before = linksTo(other.email, mailFolder).length;
      const mails = mailsIn(mailFolder).length;
      const unknown = await ask('nobody@covers.example');
      const known = await ask(other.email);
      expect([unknown.status, unknown.text]).toEqual([known.status, known.text]);
      await until(() => linksTo(other.email, mailFolder).length > before);
      expect(mailsIn(mailFolder).length).toBe(mails + 1);
      for (const email of ['', 'x', 'a@b\r\nBcc: c@d', 'a b@c']) {
        expect((await ask(email)).status).toBe(422);
      }
    });

    test('is done by the button alone, once: looking at the link changes nothing', async () => {
      const visitor = makeVisitor(pages.url);
      const before = linksTo(other.email, mailFolder).length;
      await visitor.get('/account/sign-in');
      await visitor.post('/account/sign-in', { email: other.email });
      await until(() => linksTo(other.email, mailFolder).length > before);
      const link = linksTo(other.email, mailFolder).at(-1) as string;
      for (let times = 0; times < 3; times++) {
        const scanner = makeVisitor(pages.url);
        expect((await scanner.get(link, { 'sec-purpose': 'prefetch' })).status).toBe(200);
        await fetch(pages.url + link, { method: 'HEAD' });
        expect((await scanner.get(KEYS)).status).toBe(303);
      }
      await visitor.get(link);
      const press = () => visitor.post('/account/sign-in/link', { link: tokenOf(link) });
      const reply = await press();
      expect(reply.status).toBe(303);
      expect(reply.headers.getSetCookie()[0]).toMatch(
        /^catalogue_session=[\w-]{20,}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/,
      );
      const late = makeVisitor(pages.url);
      await late.get(link);
      expect((await late.post('/account/sign-in/link', { link: tokenOf(link) })).status).toBe(410);
      expect((await late.get(KEYS)).status).toBe(303);
    });

    test('takes over no session that somebody planted', async () => {
      const attacker = makeVisitor(pages.url);
      await signIn(attacker, other.email, mailFolder);
      const planted = attacker.cookies.get('catalogue_session') as string;
      const victim = makeVisitor(pages.url);
      victim.cookies.set('catalogue_session', planted);
      // Signed in as the attacker, the victim signs out of that and in with an own link.
      await victim.get(KEYS);
      victim.cookies.delete('catalogue_session');
      await victim.get('/account/sign-in');
      const visit = victim.cookies.get('catalogue_visit') as string;
      victim.cookies.set('catalogue_session', 'planted-and-unknown');
      await signIn(victim, owner.email, mailFolder);
      const session = victim.cookies.get('catalogue_session') as string;
      expect([planted, 'planted-and-unknown']).not.toContain(session);
      expect(victim.cookies.has('catalogue_visit')).toBe(false);
      const thief = makeVisitor(pages.url);
      thief.cookies.set('catalogue_session', 'planted-and-unknown');
      thief.cookies.set('catalogue_visit', visit);
      expect((await thief.get(KEYS)).status).toBe(303);
    });

    test('ends with signing out, also for a copy of the cookie', async () => {
      const visitor = makeVisitor(pages.url);
      await signIn(visitor, other.email, mailFolder);
      const session = visitor.cookies.get('catalogue_session') as string;
      await visitor.get(KEYS);
      expect((await visitor.post('/account/sign-out')).status).toBe(303);
      expect(visitor.cookies.has('catalogue_session')).toBe(false);
      visitor.cookies.set('catalogue_session', session);
      expect((await visitor.get(KEYS)).status).toBe(303);
    });

    test('stores no token that opens anything', async () => {
      const session = people.owner.cookies.get('catalogue_session') as string;
      const stored = JSON.stringify([
        await query('SELECT * FROM sessions'),
        await query('SELECT * FROM sign_in_links'),
      ]);
      expect(stored).not.toContain(session);
      for (const mail of mailsIn(mailFolder)) {
        if (mail.includes('sign-in/link')) expect(stored).not.toContain(tokenOf(linkOf(mail)));
      }
    });
  });

  test('every page has the headers that keep others out', async () => {
    for (const [visitor, target] of [
      [people.owner, KEYS],
      [people.moderator, MODERATION],
      [makeVisitor(pages.url), '/account/sign-in'],
      [people.owner, '/account/nothing'],
    ] as const) {
      const { headers, text } = await visitor.get(target);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; /);
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe|http|\*/);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('same-origin');
      expect(headers.get('access-control-allow-origin')).toBe(null);
      expect(text).not.toMatch(
        /<style|<script>|\sstyle=|\son\w+=|(?:href|src|action)="(?!\/(?!\/)|#)/i,
      );
    }
  });

  describe('a request', () => {
    test('is approved, revealed once, rotated and revoked', async () => {
      const id = await request(people.owner);
      expect((await people.owner.get(KEYS)).text).toContain('Pending review');
      expect((await people.owner.post(`${KEYS}/${id}/reveal`)).status).toBe(409);
      expect((await decide(id, 'approve', { limit: '600' })).status).toBe(303);
      const approved = await people.owner.get(KEYS);
      expect(approved.text).toContain('600 requests a minute');
      expect(approved.text).not.toMatch(RAW_KEY);

      for (const method of ['GET', 'HEAD']) {
        const headers = {
          cookie: `catalogue_session=${people.owner.cookies.get('catalogue_session')}`,
        };
        const target = `${pages.url}${KEYS}/${id}/reveal`;
        const seen = await fetch(target, { method, headers: { ...headers, purpose: 'prefetch' } });
        expect([seen.status, seen.headers.get('allow')]).toEqual([405, 'POST']);
      }
      await people.owner.get(KEYS);
      const two = await Promise.all([1, 2].map(() => people.owner.post(`${KEYS}/${id}/reveal`)));
      expect(two.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      const shown = two.find(({ status }) => status === 200)?.text ?? '';
      const key = RAW_KEY.exec(shown)?.[0] as string;
      expect(shown).toContain(
        `curl -H &#39;X-Api-Key: ${key}&#39; http://localhost:8080/api/v1/stats`,
      );
      const again = await people.owner.post(`${KEYS}/${id}/reveal`);
      expect(again.status).toBe(409);
      for (const { text } of [again, await people.owner.get(KEYS)])
        expect(text).not.toMatch(RAW_KEY);

      await people.owner.get(KEYS);
      const rotated = await people.owner.post(`${KEYS}/${id}/rotate`, {
        prefix: key.slice(0, 8),
      });
      const second = RAW_KEY.exec(rotated.text)?.[0] as string;
      expect(second).not.toBe(key);
      const repeated = await people.owner.post(`${KEYS}/${id}/rotate`, { prefix: key.slice(0, 8) });
      expect(repeated.status).toBe(409);
      expect(repeated.text).not.toMatch(RAW_KEY);
      expect((await people.owner.get(KEYS)).text).toContain(second.slice(0, 8));
      expect((await people.owner.post(`${KEYS}/${id}/revoke`)).status).toBe(303);
      expect(await stateOf(id)).toBe('revoked');
      expect((await people.owner.post(`${KEYS}/${id}/rotate`)).status).toBe(409);

      const { text } = await people.moderator.get(`${MODERATION}/${id}`);
      for (const action of ['Requested', 'Approved', 'Revealed', 'Rotated', 'Revoked']) {
        expect(text).toContain(`<strong>${action}</strong>`);
      }
      expect(text).toContain(`by ${moderator.name}`);
      const tables = ['api_keys', 'key_events', 'mail_outbox', 'sessions', 'sign_in_links'];
      const everything = [pages.log(), ...mailsIn(mailFolder)];
      for (const table of tables)
        everything.push(JSON.stringify(await query(`SELECT * FROM ${table}`)));
      for (const raw of [key, second]) expect(everything.join()).not.toContain(raw);
    });

    test('is rejected with a reason that its owner sees', async () => {
      const id = await request(people.owner);
      expect((await decide(id, 'reject', { reason: '  ' })).status).toBe(422);
      expect((await decide(id, 'approve', { limit: '0' })).status).toBe(422);
      expect((await decide(id, 'approve', { limit: 'many' })).status).toBe(422);
      expect(await stateOf(id)).toBe('pending');
      expect((await decide(id, 'reject', { reason: `Not yet: ${HOSTILE}` })).status).toBe(303);
      const { text } = await people.owner.get(KEYS);
      expect(text).toContain('Not yet: &lt;/textarea&gt;');
    });

    test('that was decided stays so: the second moderator is told', async () => {
      const id = await request(people.owner);
      expect((await decide(id, 'approve', { limit: '60' })).status).toBe(303);
      const late = await decide(id, 'reject', { reason: 'no' });
      expect(late.status).toBe(409);
      expect(late.text).toMatch(/role="alert">[^<]*approved/);
      expect(await stateOf(id)).toBe('approved');
      expect((await decide(id, 'limit', { limit: '90' })).status).toBe(303);
      expect((await people.owner.get(KEYS)).text).toContain('90 requests a minute');
      expect((await decide(id, 'revoke', { reason: 'abuse' })).status).toBe(303);
      expect((await decide(id, 'revoke', { reason: 'abuse' })).status).toBe(409);
      expect((await decide(999_999, 'revoke', { reason: 'abuse' })).status).toBe(404);
    });

    test('that is not fit is refused, and what was typed stays', async () => {
      const before = await query('SELECT COUNT(*) FROM api_keys');
      for (const [purpose, website_url] of [
        ['', 'https://a.example'],
        ['x', ''],
        ['x', 'javascript:alert(1)'],
        ['x', 'data:text/html,x'],
        ['x', 'https://user:pw@a.example'],
        ['x', `https://a.example/${'x'.repeat(2000)}`],
        ['x'.repeat(5001), 'https://a.example'],
      ] as const) {
        await people.owner.get(KEYS);
        const reply = await people.owner.post(KEYS, { purpose, website_url });
        expect([website_url, reply.status]).toEqual([website_url, 422]);
        expect(reply.text).toMatch(/role="alert"/);
        expect(reply.text).toContain(`value="${website_url}"`);
        expect(reply.text).not.toMatch(/href="(javascript|data)/);
      }
      expect(await query('SELECT COUNT(*) FROM api_keys')).toEqual(before);
    });

    test('is one of at most three under review', async () => {
      for (let times = 0; times < 3; times++) await request(people.other);
      const { text } = await people.other.get(KEYS);
      expect(text).not.toContain('name="purpose"');
      const fields = { purpose: 'A fourth', website_url: 'https://a.example' };
      expect((await people.other.post(KEYS, fields)).status).toBe(409);
    });
  });

  test('what strangers write is text on every page', async () => {
    const name = `<b id=name>${HOSTILE}`;
    const evil = { id: 66, email: 'evil@covers.example', name };
    const database = await openDatabase(databaseUrl);
    await database.run("INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, 'user')", [
      ...[evil.id, evil.email, evil.name],
    ]);
    await database.close();
    const visitor = makeVisitor(pages.url);
    await signIn(visitor, evil.email, mailFolder);
    const website_url = 'https://a.example/"onmouseover="alert(3)';
    const id = await request(visitor, { purpose: HOSTILE, website_url });
    const shown = [
      await visitor.get(KEYS),
      await people.moderator.get(MODERATION),
      await people.moderator.get(`${MODERATION}/${id}`),
      await people.moderator.get(`${MODERATION}?text=${encodeURIComponent(HOSTILE)}&state=<b>`),
    ];
    for (const { text } of shown) {
      expect(text).toContain('&lt;script&gt;alert(1)');
      expect(text).not.toMatch(/<script>|<img|<b id|"onmouseover="/);
    }
    await decide(id, 'reject', { reason: 'no' });
  });

  describe('the list of moderators', () => {
    test('is filtered by state and by text', async () => {
      const rows = async (search: string) => {
        const { text } = await people.moderator.get(`${MODERATION}?${search}`);
        return [...text.matchAll(/<li>\s*<p><a href="\/moderation\/api-keys\/(\d+)"/g)].length;
      };
      const [[all]] = (await query('SELECT COUNT(*) FROM api_keys')) as [[number]];
      expect(await rows('')).toBe(all);
      const [[rejected]] = (await query(
        "SELECT COUNT(*) FROM api_keys WHERE state = 'rejected'",
      )) as [[number]];
      expect(await rows('state=rejected')).toBe(rejected);
      expect(await rows(`text=${encodeURIComponent(other.email)}`)).toBe(3);
      expect(await rows('text=%25%25')).toBe(0);
      expect(await rows('page=2')).toBe(0);
      expect(await rows('page=-1&state=nonsense')).toBe(all);
    });

    test('is theirs alone', async () => {
      const id = await request(people.owner);
      for (const target of [MODERATION, `${MODERATION}/${id}`]) {
        expect((await people.owner.get(target)).status).toBe(403);
      }
      await people.owner.get(KEYS);
      const fields = { limit: '60', reason: 'x' };
      for (const action of ['approve', 'reject', 'revoke', 'limit']) {
        const reply = await people.owner.post(`${MODERATION}/${id}/${action}`, fields);
        expect(reply.status).toBe(403);
      }
      expect(await stateOf(id)).toBe('pending');
      await decide(id, 'reject', { reason: 'no' });
    });
  });

  test('another account’s key is not there', async () => {
    const id = await request(people.owner);
    await decide(id, 'approve', { limit: '60' });
    await people.other.get(KEYS);
    for (const action of ['reveal', 'rotate', 'revoke']) {
      const reply = await people.other.post(`${KEYS}/${id}/${action}`);
      expect([action, reply.status]).toEqual([action, 404]);
      expect(reply.text).not.toMatch(RAW_KEY);
    }
    expect(await query('SELECT state, revealed_at FROM api_keys WHERE id = ?', [id])).toEqual([
      ['approved', null],
    ]);
  });

  test('a form from elsewhere, or without its visitor’s token, changes nothing', async () => {
    const id = await request(people.owner);
    await decide(id, 'approve', { limit: '60' });
    const target = `${KEYS}/${id}/revoke`;
    await people.owner.get(KEYS);
    const send = async (fields: Record<string, string>, headers = {}) =>
      (await people.owner.post(target, fields, headers)).status;
    for (const token of ['', 'x', 'a'.repeat(43)]) expect(await send({ token })).toBe(403);
    const foreign = (await people.other.get(KEYS)).text;
    const token = /name="token" value="([^"]*)"/.exec(foreign)?.[1] as string;
    expect(await send({ token })).toBe(403);
    await people.owner.get(KEYS);
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expect(await send({}, headers)).toBe(403);
    }
    const json = await people.owner.post(target, {}, { 'content-type': 'application/json' });
    expect(json.status).toBe(415);
    expect((await people.owner.post(target, { purpose: 'x'.repeat(70_000) })).status).toBe(413);
    expect(await stateOf(id)).toBe('approved');
    await people.owner.get(KEYS);
    const headers = { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' };
    expect(await send({}, headers)).toBe(303);
    expect(await stateOf(id)).toBe('revoked');
  });

  test('nothing that was refused made the log grow, and the end is orderly', async () => {
    expect(pages.log()).not.toContain('failed');
    for (const mail of mailsIn(mailFolder)) {
      if (mail.includes('sign-in/link')) expect(pages.log()).not.toContain(tokenOf(linkOf(mail)));
    }
    expect(await pages.stop()).toBe(0);
  });
});
