/** How owners and moderators use the account pages, over HTTP. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readKeys } from '#keys/export/export-keys.ts';
import { changeLimit, issueKey } from '#keys/lifecycle/reviews.ts';
import { openDatabase } from '#lib/database/open.ts';
import { hashKey } from '#lib/format/api-key.ts';
import { parseKeys } from '#lib/format/keys-file.ts';
import { linkOf, mailsIn, signIn, tokenOf } from '#test/support/account.ts';
import { makeFolder } from '#test/support/product.ts';
import { HOSTILE, KEYS, MODERATION, openAccountSite, RAW_KEY } from './account-people.ts';

/** Further accounts. */
const [LATE, lateEmail] = [20, 'late@covers.example'];
const [BUSY, busyEmail] = [21, 'busy@covers.example'];

const site = await openAccountSite();
await site.query(
  "INSERT INTO accounts (id, email, name, role) VALUES (?, ?, 'A', 'user'), (?, ?, 'A', 'user')",
  [LATE, lateEmail, BUSY, busyEmail],
);

afterEach(() => {
  vi.useRealTimers();
});

/** Issues a key as the command line does. */
async function issue(purpose: string, limit = 60): Promise<number> {
  const database = await openDatabase(site.databaseUrl);
  const { id } = await issueKey(database, { limit, purpose, at: new Date() });
  await database.close();
  return id;
}

describe('a request', () => {
  test('is rejected with a reason that its owner sees, and a second moderator gets a message', async () => {
    const id = await site.request(site.people.owner);
    const statusOf = async (action: string, fields: Record<string, string>, key = id) =>
      (await site.decide(key, action, fields)).status;
    expect(await statusOf('reject', { reason: `Not yet: ${HOSTILE}` })).toBe(303);
    const { text } = await site.people.owner.get(KEYS);
    expect(text).toContain('Not yet: &lt;/textarea&gt;');
    const late = await site.decide(id, 'approve', { limit: '60' });
    expect([late.status, late.text]).toEqual([
      409,
      expect.stringMatching(/role="alert">[^<]*rejected/),
    ]);
    expect(await statusOf('revoke', { reason: 'abuse' }, 999_999)).toBe(404);
  });

  test('that is not valid is refused, and the form keeps the typed text', async () => {
    const before = await site.query('SELECT COUNT(*) FROM api_keys');
    for (const [purpose, website_url] of [
      ['', 'https://a.example'],
      ['x', 'javascript:alert(1)'],
    ] as const) {
      const reply = await site.people.owner.post(KEYS, { purpose, website_url });
      expect([website_url, reply.status]).toEqual([website_url, 422]);
      expect(reply.text).toMatch(/role="alert"/);
      const field = purpose === '' ? 'purpose' : 'website_url';
      expect(reply.text).toMatch(
        new RegExp(`id="${field}-fault">.*name="${field}"[^>]* aria-invalid="true"`, 's'),
      );
      expect(reply.text).toContain(`value="${website_url}"`);
      expect(reply.text).not.toMatch(/href="(javascript|data)/);
    }
    expect(await site.query('SELECT COUNT(*) FROM api_keys')).toEqual(before);
    const allWrong = { purpose: '', website_url: 'x', name: 'n'.repeat(61) };
    const { text } = await site.people.owner.post(KEYS, allWrong);
    const faults = [...text.matchAll(/id="(\w+)-fault"/g)].map(([, field]) => field);
    expect(faults).toEqual(['purpose', 'website_url', 'name']);
    expect(text.match(/ autofocus/g)).toHaveLength(1);
  });
});

test('a decision of the last 30 days is shown with its reason, an older one is folded away', async () => {
  const id = await site.request(site.people.owner);
  await site.decide(id, 'reject', { reason: 'Say more' });
  const isFolded = async () => {
    const { text } = await site.people.owner.get(KEYS);
    return (
      text.indexOf('<summary>Earlier') < text.indexOf(`id="key-${id}"`) &&
      text.includes('<summary>Earlier')
    );
  };
  expect(await isFolded()).toBe(false);
  await site.query("UPDATE api_keys SET reviewed_at = '2020-01-01 00:00:00' WHERE id = ?", [id]);
  expect(await isFolded()).toBe(true);
});

test('a rotated key works beside the new one for 24 hours if the owner keeps it, and can be ended before', async () => {
  const { owner } = site.people;
  const { id, key } = await site.revealed(owner);
  const entries = async () => {
    const database = await openDatabase(site.databaseUrl);
    const content = (await readKeys(database, makeFolder())) ?? '';
    await database.close();
    return parseKeys(content)
      .filter((entry) => entry.id === id)
      .map(({ hash, state }) => [hash, state]);
  };
  const rotate = async (prefix: string, old: string) => {
    const { text } = await owner.post(`${KEYS}/${id}/rotate`, { prefix, old });
    const [raw = ''] = RAW_KEY.exec(text) ?? [];
    return [raw, text] as const;
  };
  const [second, page] = await rotate(key.slice(0, 8), 'keep');
  expect(page).toContain('Your old key works for 24 more hours.');
  expect(await entries()).toEqual([
    [hashKey(second), 'approved'],
    [hashKey(key), 'approved'],
  ]);
  expect((await owner.get(KEYS)).text).toMatch(
    new RegExp(`<code>${key.slice(0, 8)}…</code> works until <time`),
  );
  const form = (await owner.get(KEYS)).text;
  expect(form).toContain('The old key named above stops working.');
  expect(form).toContain('Rotate, end this key at once');
  expect(form).toContain(`End the old key of key ${id}`);
  await owner.post(`${KEYS}/${id}/end-old`);
  expect(await entries()).toEqual([[hashKey(second), 'approved']]);
  const [third] = await rotate(second.slice(0, 8), 'keep');
  // Its time has come.
  await site.query("UPDATE old_keys SET ends_at = '2020-01-01 00:00:00'");
  expect(await entries()).toEqual([[hashKey(third), 'approved']]);
  expect((await owner.get(KEYS)).text).not.toContain('works until');
  const [fourth] = await rotate(third.slice(0, 8), 'keep');
  // A leak ends all.
  const [fifth, last] = await rotate(fourth.slice(0, 8), '');
  expect(last).toContain('Your old key no longer works.');
  expect(await entries()).toEqual([[hashKey(fifth), 'approved']]);
  // An old key works only while its key is approved, on every page.
  const [sixth] = await rotate(fifth.slice(0, 8), 'keep');
  const pageOf = async (path: string) => (await site.people.moderator.get(path)).text;
  const search = `${MODERATION}?text=${fifth.slice(0, 8)}`;
  const row = `<p><a href="${MODERATION}/${id}">Key ${id}</a>`;
  expect(await pageOf(search)).toContain(row);
  expect(await pageOf(`${MODERATION}/${id}`)).toContain('…</code> works until <time');
  expect((await owner.post(`${KEYS}/${id}/revoke`)).status).toBe(303);
  for (const text of [(await owner.get(KEYS)).text, await pageOf(`${MODERATION}/${id}`)]) {
    expect(text).toContain(`<code>${sixth.slice(0, 8)}…`);
    expect(text).not.toContain('works until');
  }
  expect(await pageOf(search)).not.toContain(row);
});

test('a name or a decision that is refused stands beside its field, in the form that was sent', async () => {
  // Of another owner: twenty changes an hour are allowed.
  const { other, moderator } = site.people;
  const { id } = await site.revealed(other);
  const beside = (text: string, field: string) =>
    new RegExp(
      `id="${field}-fault">([^<]*)</p>\\s*<\\w+ id="${field}"[^>]* aria-describedby="${field}-fault" aria-invalid="true" autofocus`,
    ).exec(text)?.[1];
  const name = 'n'.repeat(61);
  const renamed = (await other.post(`${KEYS}/${id}/rename`, { name })).text;
  expect(beside(renamed, `name-${id}`)).toBe('The name has 61 characters; at most 60 are allowed.');
  expect(renamed).toMatch(
    new RegExp(`<details open>(?:(?!</details>).)*id="name-${id}"[^>]*value="${name}"`, 's'),
  );
  expect(renamed.match(/<details open>/g)).toHaveLength(1);
  const request = await site.request(other);
  for (const [key, action, typed, field, fault] of [
    [request, 'reject', { reason: ' ' }, 'reason', 'Write a reason: the owner gets it by e-mail.'],
    [request, 'approve', { limit: '0' }, 'limit', /^The limit must be .*, not 0\.$/],
    [id, 'limit', { limit: 'many' }, 'limit', /^The limit must be a whole number/],
    [id, 'revoke', { reason: '' }, 'reason', /^Write a reason/],
  ] as const) {
    const { status, text } = await site.decide(key, action, typed);
    expect([action, status]).toEqual([action, 422]);
    expect(beside(text, `${field}-${key}`)).toMatch(fault);
    expect(text.match(/-fault">/g)).toHaveLength(1);
  }
  await moderator.post(`${MODERATION}/${request}/reject`, { reason: 'Done' });
});

test('the card of a key and the page of moderators say when it was last used', async () => {
  const { id } = await site.revealed(site.people.other);
  await site.query("UPDATE api_keys SET last_used_at = '2026-03-04 05:06:07' WHERE id = ?", [id]);
  const shown =
    '<dt>Last used</dt><dd><time datetime="2026-03-04T05:06:07.000Z">4 Mar 2026, 05:06 UTC</time>';
  expect((await site.people.other.get(KEYS)).text).toContain(shown);
  expect((await site.people.moderator.get(`${MODERATION}/${id}`)).text).toContain(shown);
});

test('approving a request for a higher limit raises the limit of its key, and its owner sees the history', async () => {
  const { owner, other, moderator } = site.people;
  const { id } = await site.revealed(owner);
  expect((await owner.get(KEYS)).text).toContain(`href="${KEYS}?limit-of=${id}#request"`);
  const form = `<input type="hidden" name="limit-of" value="${id}">`;
  expect((await owner.get(`${KEYS}?limit-of=${id}`)).text).toContain(form);
  expect((await other.get(`${KEYS}?limit-of=${id}`)).text).not.toContain(form);
  const asked = { 'limit-of': String(id), limit: '600', purpose: 'A new tool' };
  for (const [wrong, field] of [
    [{ limit: '60' }, 'limit'],
    [{ limit: '' }, 'limit'],
    [{ purpose: '' }, 'purpose'],
  ] as const) {
    const { status, text } = await owner.post(KEYS, { ...asked, ...wrong });
    expect([status, text]).toEqual([422, expect.stringContaining(`id="${field}-fault"`)]);
    expect(text).toContain(form);
  }
  const stolen = await other.post(KEYS, asked);
  expect([stolen.status, stolen.text]).toEqual([409, expect.stringContaining('is not in use.')]);

  const request = await site.request(owner, asked);
  const facts = `<dt>Higher limit for</dt><dd>Key ${id}, now 60 requests per minute</dd></div><div><dt>Asked for</dt><dd>600 requests per minute</dd>`;
  expect((await owner.get(KEYS)).text).toContain(facts);
  const { text: review } = await moderator.get(`${MODERATION}/${request}`);
  expect(review).toContain(facts);
  expect(review).toMatch(new RegExp(`<input id="limit-${request}" [^>]* value="600">`));
  expect((await site.decide(request, 'approve', { limit: '500' })).status).toBe(303);

  const { text } = await owner.get(KEYS);
  const [, card = ''] = text.split(`id="key-${id}"`);
  expect(card).toContain('<dt>Limit</dt><dd>500 requests per minute</dd>');
  expect(card).toMatch(
    /<strong>Limit changed<\/strong> by a moderator, .*\n\s*<p>500 requests per/,
  );
  expect(card).toContain(`<p class="text">Request ${request}</p>`);
  expect(card).toContain('<strong>Revealed</strong> by you, ');
  expect(text).not.toContain(`${KEYS}/${request}/reveal`);
  expect((await moderator.get(`${MODERATION}/${request}`)).text).not.toContain('/approve"');
});

test('the page of a key shows its limit and its history', async () => {
  const id = await issue('Our own', 70);
  const pageOf = async (key: number) =>
    (await site.people.moderator.get(`${MODERATION}/${key}`)).text;
  expect(await pageOf(id)).toContain('<dt>Limit</dt><dd>70 requests per minute</dd>');
  expect(await pageOf((await site.revealed(site.people.owner)).id)).toContain('<h1>Key ');
  await site.decide(id, 'limit', { limit: '80' });
  await site.decide(id, 'revoke', { reason: 'Not ours' });
  const rejected = await site.request(site.people.owner);
  expect(await pageOf(rejected)).toContain(`<h1>Request ${rejected}</h1>`);
  expect(await pageOf(rejected)).not.toContain('<dt>Limit</dt>');
  await site.decide(rejected, 'reject', { reason: 'no' });
  const done = (text: string) => [...text.matchAll(/<strong>(.*?)<\/strong>/g)].map(([, it]) => it);
  expect(done(await pageOf(id)).toSorted()).toEqual(['Issued', 'Limit changed', 'Revoked']);
  expect(done(await pageOf(rejected)).toSorted()).toEqual(['Rejected', 'Requested']);
  expect(await pageOf(id)).toContain('<dt>Limit</dt><dd>80 requests per minute</dd>');
});

test('the pages of the owner and of moderators show what a key has used, the latter alone those of others', async () => {
  const { id } = await site.revealed(site.people.owner);
  const { people } = site;
  const pages = async () => [
    (await people.owner.get(KEYS)).text,
    (await people.moderator.get(`${MODERATION}/${id}`)).text,
  ];
  const chart = `<figcaption id="usage-${id}">`;
  for (const page of await pages()) expect(page).not.toContain(chart);
  // The day must not end meanwhile.
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now });
  const today = new Date(now).toISOString().slice(0, 10);
  const before = new Date(now - 29 * 24 * 3600 * 1000).toISOString().slice(0, 10);
  for (const [day, run, requests, refused] of [
    [today, 'a', 1_200, 30],
    [today, 'b', 34, 0],
    [before, 'a', 1, 0],
  ] as const) {
    const row = [id, day, run, requests, refused];
    await site.query('INSERT INTO key_usage VALUES (?, ?, ?, ?, ?)', row);
  }
  for (const page of await pages()) {
    expect(page).toContain(`${chart}1,265 requests in the last 30 days, 30 of them over the limit`);
    expect(page).toMatch(
      new RegExp(`<svg viewBox="0 0 298 61" role="img" aria-labelledby="usage-${id}">`),
    );
    expect(page).toContain(`<title>${today}: 1,264 requests, 30 of them over the limit</title>`);
    expect(page).toContain(`<title>${before}: 1 request</title>`);
    // The bars of today: the refused requests on top of the others.
    expect(page).toMatch(
      /class="requests" x="290" y="1\.42" width="8" height="58\.58"><\/rect><rect class="refused" x="290" y="0\.00" width="8" height="1\.42">/,
    );
    expect(page.replace(/<\/?time[^>]*>/g, '')).toMatch(
      /<th scope="row">[^<]+<\/th><td>1,264<\/td><td>30<\/td>/,
    );
  }
  expect((await people.other.get(KEYS)).text).not.toContain('1,264');
});

test('the page of moderators lists e-mails that did not arrive, with the answer of the mail server', async () => {
  const id = await issue('a bot');
  const { text: before } = await site.people.moderator.get(MODERATION);
  expect(before).not.toContain('E-mails that did not arrive');
  const add = (subject: string, values: string) =>
    site.query(
      `INSERT INTO mail_outbox (key_id, recipient, subject, created_at, body, next_attempt_at, expires_at, last_error)
       VALUES (?, 'gone@covers.example', ?, '2026-03-04 05:06:07', ${values}) RETURNING id`,
      [id, subject],
    );
  await add('Refused', `'Text.', NULL, NULL, '550 no such mailbox'`);
  await add('Waiting', `'Text.', '2036-03-04 05:06:07', NULL, '452 later'`);
  await add('Expired link', `'', NULL, '2026-03-04 05:21:07', 'It expired before it was sent.'`);
  const { text } = await site.people.moderator.get(MODERATION);
  const [, listed = ''] = text.split('E-mails that did not arrive');
  expect(listed).toContain(`<a href="${MODERATION}/${id}">Refused</a>`);
  expect(listed).toContain('gone@covers.example');
  expect(listed).toContain('550 no such mailbox');
  expect(listed).not.toMatch(/Waiting|Expired link/);
  await site.query('DELETE FROM mail_outbox RETURNING id');
});

test('an unknown action is 404, even if its name begins like a known one', async () => {
  const id = await site.request(site.people.other);
  for (const action of ['approved', 'approve/', 'delete']) {
    expect([action, (await site.decide(id, action, { limit: '60' })).status]).toEqual([
      action,
      404,
    ]);
  }
  expect(await site.stateOf(id)).toBe('pending');
  await site.decide(id, 'reject', { reason: 'no' });
});

describe('the list for moderators', () => {
  test('is filtered by state and by text', async () => {
    const rows = async (search: string) => {
      const { text } = await site.people.moderator.get(`${MODERATION}?${search}`);
      return [...text.matchAll(/<li>\s*<p><a href="\/moderation\/api-keys\/(\d+)"/g)].length;
    };
    const [[all]] = (await site.query('SELECT COUNT(*) FROM api_keys')) as [[number]];
    expect(await rows('')).toBe(all);
    const [[rejected]] = (await site.query(
      "SELECT COUNT(*) FROM api_keys WHERE state = 'rejected'",
    )) as [[number]];
    expect(await rows('state=rejected')).toBe(rejected);
    await site.request(site.people.other, { purpose: 'Sought for' });
    expect(await rows('text=SOUGHT%20for&state=pending')).toBe(1);
    expect(await rows('text=sought&state=approved')).toBe(0);
    expect(await rows('page=-1&state=nonsense')).toBe(all + 1);
  });

  test('shows the first 120 characters of a longer purpose', async () => {
    await issue(`${'𠮷'.repeat(120)}end`);
    const { text } = await site.people.moderator.get(`${MODERATION}?text=𠮷`);
    expect(text).toContain(`>${'𠮷'.repeat(120)}…<`);
  });

  test('has fifty keys per page, with links to the next and previous pages', async () => {
    for (let i = 0; i < 51; i++) await issue('One of many');
    const look = async (search: string) => {
      const { text } = await site.people.moderator.get(`${MODERATION}?text=one+of+many${search}`);
      const rows = text.match(/<p><a href="\/moderation\/api-keys\/\d+">/g)?.length;
      const links = [...text.matchAll(/<a [^>]*href="[^"]*\?([^"]*)#all">([^<]*)/g)];
      return [rows, ...links.map(([, query, name]) => `${name}: ${query}`)];
    };
    expect(await look('')).toEqual([50, 'Older keys: page=2&amp;text=one+of+many']);
    expect(await look('&page=2')).toEqual([1, 'Newer keys: page=1&amp;text=one+of+many']);
    expect(await look('&state=approved&page=1')).toEqual([
      50,
      'Older keys: page=2&amp;state=approved&amp;text=one+of+many',
    ]);
    expect((await site.people.moderator.get(`${MODERATION}?text=sought`)).text).not.toContain(
      '#all',
    );
  });
});

describe('with many keys', () => {
  // Each quote and ampersand takes five characters in the markup.
  const LONGEST_PURPOSE = `One of very many ${'"'.repeat(4_900)}`;
  const LONGEST_ADDRESS = `https://a.example/?${'&'.repeat(1_900)}`;
  /** Adds rows as transitions write them. */
  async function addKeys(accountId: number, state: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await site.query(
        `INSERT INTO api_keys (account_id, purpose, website_url, state, requested_at)
           VALUES (?, ?, ?, ?, '2026-03-04 05:06:07')`,
        [accountId, LONGEST_PURPOSE, LONGEST_ADDRESS, state],
      );
    }
  }
  const cardsIn = (text: string) => text.match(/<li class="card"/g)?.length ?? 0;
  const linksIn = (text: string) =>
    [...text.matchAll(/<a [^>]*href="[^"]*\?((?!limit-of)[^"#]*)#[\w-]+">([^<]*)/g)].map(
      ([, ...parts]) => parts,
    );

  test('the page of an owner shows twenty, first those in use, with links to the others', async () => {
    const visitor = site.visit();
    await signIn(visitor, lateEmail, site.mailFolder);
    await addKeys(LATE, 'approved', 2);
    await addKeys(LATE, 'withdrawn', 45);
    const first = (await visitor.get(KEYS)).text;
    expect(cardsIn(first)).toBe(20);
    expect(first.length).toBeLessThan(1_000_000);
    expect(first.match(/Ready to reveal/g)).toHaveLength(2);
    expect(linksIn(first)).toEqual([['page=2', 'More keys']]);
    const second = (await visitor.get(`${KEYS}?page=2`)).text;
    expect(cardsIn(second)).toBe(20);
    expect(linksIn(second)).toEqual([
      ['page=1', 'Previous keys'],
      ['page=3', 'More keys'],
    ]);
    expect(cardsIn((await visitor.get(`${KEYS}?page=3`)).text)).toBe(7);
    expect(cardsIn((await visitor.get(`${KEYS}?page=-1`)).text)).toBe(20);
  });

  test('the page of moderators shows fifty requests that wait, with links to the others', async () => {
    await addKeys(LATE, 'pending', 60);
    const first = (await site.people.moderator.get(MODERATION)).text;
    expect(cardsIn(first)).toBe(50);
    expect(first.length).toBeLessThan(1_000_000);
    // A request of which the page shows only a part has a link to the whole.
    expect(first.match(/>Read all of request \d+</g)?.length).toBeGreaterThan(40);
    expect(linksIn(first)).toContainEqual(['waiting=2', 'Newer requests']);
    const second = (await site.people.moderator.get(`${MODERATION}?waiting=2&text=one`)).text;
    expect(cardsIn(second)).toBeGreaterThanOrEqual(10);
    expect(cardsIn(second)).toBeLessThan(50);
    expect(linksIn(second)).toContainEqual(['waiting=1&amp;text=one', 'Older requests']);
  });

  test('the page of a key shows its last hundred events', async () => {
    const id = await issue('Its limit changes often');
    const database = await openDatabase(site.databaseUrl);
    const review = { by: null, at: new Date() };
    for (let limit = 1; limit <= 120; limit++) {
      await changeLimit(database, id, { limit, ...review });
    }
    await database.close();
    const { text } = await site.people.moderator.get(`${MODERATION}/${id}`);
    expect(text.match(/<strong>Limit changed<\/strong>/g)).toHaveLength(100);
    expect(text).toContain('<p>120 requests per minute</p>');
  });
});

test('the twenty-first change of an account in an hour gets 429, and keeps what was typed', async () => {
  const visitor = site.visit();
  await signIn(visitor, busyEmail, site.mailFolder);
  for (let i = 0; i < 10; i++) {
    const id = await site.request(visitor);
    expect((await visitor.post(`${KEYS}/${id}/withdraw`)).status).toBe(303);
  }
  const reply = await visitor.post(KEYS, {
    purpose: 'Once more',
    website_url: 'https://a.example',
  });
  expect(reply.status).toBe(429);
  const seconds = Number(reply.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(3_000);
  expect(seconds).toBeLessThanOrEqual(3_600);
  expect(reply.text).toMatch(/role="alert">You have made 20 changes in an hour\. The next one is/);
  expect(reply.text).toContain('Once more</textarea>');
  expect(await site.query('SELECT COUNT(*) FROM api_keys WHERE account_id = ?', [BUSY])).toEqual([
    [10],
  ]);
});

test('refusals cause no lines in the log, and the pages end', async () => {
  expect(site.pages.log()).not.toContain('failed');
  for (const mail of mailsIn(site.mailFolder)) {
    if (mail.includes('sign-in/link'))
      expect(site.pages.log()).not.toContain(tokenOf(linkOf(mail)));
  }
  await site.pages.stop();
  expect(site.pages.log()).not.toContain('"level":"error"');
});
