/**
 * Attacks on the account pages: forged forms, markup in every text, keys of other accounts, and programs
 * that open every link.
 */
import { describe, expect, test } from 'vitest';
import { KEYS_TABLES } from '#keys/tables/schema.ts';
import { mailsIn, requestLink, signIn, type Visitor } from '#test/support/account.ts';
import { HOSTILE, KEYS, MODERATION, openAccountSite, RAW_KEY } from './account-people.ts';

const site = await openAccountSite();
const { people } = site;

/** All rows of all tables, once no e-mail is waiting to be sent. */
async function state(): Promise<unknown> {
  await site.pages.sendMails();
  const tables = Object.keys(KEYS_TABLES).map((table) =>
    site.query(`SELECT * FROM ${table} ORDER BY 1`),
  );
  return Promise.all(tables);
}

describe('a form', () => {
  const sent = (visitor: Visitor, target: string, fields = {}, headers = {}) =>
    visitor.post(target, fields, headers).then(({ status }) => status);

  test('from another origin changes nothing, on any page', async () => {
    const { id } = await site.revealed(people.owner);
    const pending = await site.request(people.owner);
    const before = await state();
    const { owner, moderator } = people;
    const targets: [Visitor, string][] = [
      [owner, '/account/sign-out'],
      [owner, KEYS],
      ...['reveal', 'rotate', 'rename', 'withdraw', 'revoke'].map((action): [Visitor, string] => [
        ...([owner, `${KEYS}/${id}/${action}`] as const),
      ]),
      ...['approve', 'reject', 'revoke', 'limit'].map((action): [Visitor, string] => [
        ...([moderator, `${MODERATION}/${pending}/${action}`] as const),
      ]),
      [site.visit(), '/account/sign-in'],
      [site.visit(), '/account/sign-in/link'],
    ];
    const fields = { limit: '60', reason: 'x', purpose: 'x', website_url: 'https://a.example' };
    for (const [visitor, target] of targets) {
      const status = await sent(visitor, target, fields, { origin: 'https://evil.example' });
      expect([target, status]).toEqual([target, 403]);
    }
    const target = `${KEYS}/${id}/revoke`;
    expect(await state()).toEqual(before);
    const own = { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' };
    expect(await sent(owner, target, {}, own)).toBe(303);
    expect(await site.stateOf(id)).toBe('revoked');
    await site.decide(pending, 'reject', { reason: 'no' });
  });
});

test('markup in a text of a stranger is shown as text on every page', async () => {
  const email = 'evil@covers.example';
  await site.query("INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, 'user')", [
    ...[66, email, `<b id=name>${HOSTILE}`],
  ]);
  const visitor = site.visit();
  await signIn(visitor, email, site.mailFolder);
  const website_url = 'https://a.example/"onmouseover="alert(3)';
  const name = HOSTILE.slice(0, 60);
  const id = await site.request(visitor, { purpose: HOSTILE, website_url, name });
  const shown = [await visitor.get(KEYS), await people.moderator.get(MODERATION)];
  await site.decide(id, 'reject', { reason: HOSTILE });
  shown.push(
    await visitor.get(KEYS),
    await people.moderator.get(`${MODERATION}/${id}`),
    await people.moderator.get(`${MODERATION}?text=${encodeURIComponent(HOSTILE)}&state=<b>`),
    await visitor.post(KEYS, { purpose: HOSTILE, website_url: `x:${HOSTILE}` }),
  );
  for (const { text } of shown) {
    expect(text).toContain('&lt;script&gt;alert(1)');
    expect(text).not.toMatch(/<script>|<img(?! src="\/account\/icon\.svg")|<b id|"onmouseover="/);
    expect(text.match(/<textarea/g)?.length).toBe(text.match(/<\/textarea/g)?.length);
  }
  // A row that was not written by these pages may hold such an address.
  const script = 'javascript:alert(1)';
  await site.query('UPDATE api_keys SET website_url = ? WHERE id = ?', [script, id]);
  for (const { text } of [
    await visitor.get(KEYS),
    await people.moderator.get(`${MODERATION}/${id}`),
  ]) {
    expect(text).toContain(script);
    expect(text).not.toContain(`href="${script}`);
  }
});

test('the key of another account cannot be seen or changed', async () => {
  const { id, key } = await site.revealed(people.owner);
  const approved = await site.request(people.owner, { purpose: 'Nobody else reads this' });
  await site.decide(approved, 'approve', { limit: '60' });
  const before = await state();
  const page = await people.other.get(KEYS);
  for (const text of [key.slice(0, 8), 'Nobody else reads this', `/${id}/`]) {
    expect(page.text).not.toContain(text);
  }
  for (const [target, action] of [
    [approved, 'reveal'],
    ...['rotate', 'rename', 'withdraw', 'revoke'].map((action) => [id, action] as const),
  ] as const) {
    const text = { purpose: 'x', website_url: 'https://x.example', name: 'x' };
    const own = { prefix: key.slice(0, 8), ...text };
    const reply = await people.other.post(`${KEYS}/${target}/${action}`, own);
    const absent = await people.other.post(`${KEYS}/999999/${action}`, own);
    expect([action, reply.status]).toEqual([action, 404]);
    // The response is the same as for a key that does not exist.
    expect(reply.text).toBe(absent.text.replaceAll('999999', String(target)));
  }
  expect(await state()).toEqual(before);
});

test('only moderators can see and use the pages for moderators', async () => {
  const id = await site.request(people.owner);
  const before = await state();
  for (const target of [MODERATION, `${MODERATION}/${id}`]) {
    const reply = await people.owner.get(target);
    expect([target, reply.status]).toEqual([target, 403]);
    expect(reply.text).not.toContain('@covers.example');
  }
  for (const action of ['approve', 'reject', 'revoke', 'limit']) {
    const fields = { limit: '60', reason: 'x' };
    const reply = await people.owner.post(`${MODERATION}/${id}/${action}`, fields);
    expect([action, reply.status]).toEqual([action, 403]);
  }
  expect(await state()).toEqual(before);
  await site.decide(id, 'reject', { reason: 'no' });
});

test('opening every link in mails and pages changes nothing', async () => {
  const approved = await site.request(people.owner);
  await site.decide(approved, 'approve', { limit: '60' });
  await people.owner.post('/account/sign-out');
  const visitor = site.visit();
  await requestLink(visitor, 'owner@covers.example', site.mailFolder);
  const before = await state();
  const links = mailsIn(site.mailFolder)
    .flatMap((mail) => [...mail.matchAll(/https?:\/\/[^\s>]+/g)])
    .map(([link]) => link.replace(/^https?:\/\/[^/]+/, ''));
  expect(links.some((link) => link.includes('sign-in/link?token='))).toBe(true);
  expect(links).toContain(KEYS);
  const scanner = site.visit();
  const prefetch = { 'sec-purpose': 'prefetch;prerender', purpose: 'prefetch' };
  const open = async (who: Visitor, link: string) => {
    await who.get(link);
    await who.get(link, prefetch);
    await fetch(site.pages.url + link, { method: 'HEAD' });
  };
  for (const link of links) await open(scanner, link);
  // Also for a signed-in visitor whose browser prefetches links and the targets of forms.
  for (const start of [KEYS, MODERATION]) {
    const { text } = await people.moderator.get(start);
    const found = [
      ...text.matchAll(/(?:href|action|formaction)="(\/(?:account|moderation)[^"]*)"/g),
    ];
    expect(found.length).toBeGreaterThan(3);
    for (const [, link] of found) await open(people.moderator, link as string);
  }
  expect(await state()).toEqual(before);
  await signIn(people.owner, 'owner@covers.example', site.mailFolder);
  const reply = await people.owner.post(`${KEYS}/${approved}/reveal`);
  expect([reply.status, RAW_KEY.test(reply.text)]).toEqual([200, true]);
});

test('an account with five requests under review sees no form for another', async () => {
  for (let i = 0; i < 5; i++) await site.request(people.other);
  expect((await people.other.get(KEYS)).text).not.toContain('name="purpose"');
  const fields = { purpose: 'One of many', website_url: 'https://a.example' };
  expect((await people.other.post(KEYS, fields)).status).toBe(409);
});

test('none of these attacks caused an error in the log', () => {
  expect(site.pages.log()).not.toMatch(/"level":[56]0/);
});
