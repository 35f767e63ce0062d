/** Requests for keys: which are accepted, which are refused, and how many may wait. */

import { describe, expect, it } from 'vitest';
import {
  findKeyWithAccount,
  listKeys,
  listKeysOf,
  listKeysWithAccounts,
  pendingRequests,
} from '#keys/lifecycle/key-lists.ts';
import { usageOf } from '#keys/lifecycle/key-usage.ts';
import {
  hasMostPending,
  MOST_PENDING,
  renameKey,
  requestKey,
  withdrawRequest,
} from '#keys/lifecycle/own-keys.ts';
import { rejectRequest } from '#keys/lifecycle/reviews.ts';
import type { Account } from '#keys/tables/accounts.ts';
import type { Database, Reader } from '#lib/database/database.ts';
import { KINDS } from '#test/support/databases.ts';
import { AT, openKeysDatabase, REVIEW } from './keys-database.ts';

const ALL = { limit: 1_000, offset: 0 };
const TOO_MANY =
  '5 of your requests are waiting for review already. You can send another one when a moderator has decided about one of them, or when you withdraw one.';

describe.each(KINDS)('a request for a key in a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);

  const request = (owner: Account, changes: { purpose?: string; websiteUrl?: string } = {}) =>
    requestKey(database, {
      accountId: owner.id,
      purpose: 'a tool',
      websiteUrl: 'https://tool.example',
      at: AT,
      ...changes,
    });
  const pendingOf = async (owner: Account) =>
    (await listKeysOf(database, owner.id, ALL)).filter(({ state }) => state === 'pending').length;

  it('is stored for review with its text, and without a key', async () => {
    const owner = await database.addOwner();
    const { id } = await request(owner, {
      purpose: '  A mirror,\r\nwith 600 a minute: 😀  ',
      websiteUrl: ' HTTPS://Tool.Example/über?q=1#x ',
    });
    expect(await findKeyWithAccount(database, id)).toMatchObject({
      state: 'pending',
      account_id: owner.id,
      account_email: owner.email,
      purpose: 'A mirror,\nwith 600 a minute: 😀',
      website_url: 'https://tool.example/%C3%BCber?q=1#x',
      key_prefix: null,
      requested_at: '2026-03-04 05:06:07',
      reviewed_at: null,
    });
    expect((await pendingRequests(database, ALL)).at(-1)?.id).toBe(id);
    // No mail is sent before the decision.
    expect(await database.rows('SELECT id FROM mail_outbox WHERE key_id = ?', [id])).toEqual([]);
  });

  it('is stored without control characters and lone surrogates, and otherwise unchanged', async () => {
    const owner = await database.addOwner();
    const markup = `<script>alert(1)</script> '; DROP TABLE api_keys; -- "\\`;
    const { id } = await request(owner, {
      purpose: `a\u0000b\u001b[2Jc\u0085d\ttab \ud800${markup}\u202e`,
    });
    expect((await findKeyWithAccount(database, id))?.purpose).toBe(
      `a b [2Jc d\ttab \ufffd${markup}\u202e`,
    );
  });

  it('may have a purpose and an address of the greatest length', async () => {
    const owner = await database.addOwner();
    const purpose = '😀'.repeat(2500);
    const websiteUrl = `https://tool.example/${'x'.repeat(2000 - 21)}`;
    const { id } = await request(owner, { purpose, websiteUrl });
    expect(await findKeyWithAccount(database, id)).toMatchObject({
      purpose,
      website_url: websiteUrl,
    });
  });

  it('is one of only five under review after twenty simultaneous ones', async () => {
    const owner = await database.addOwner();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        request(owner, { purpose: `flood ${i}` }).then(
          () => 'accepted',
          ({ message }) => message,
        ),
      ),
    );
    const refusals = outcomes.filter((outcome) => outcome !== 'accepted');
    expect(refusals).toEqual(Array.from({ length: 15 }, () => TOO_MANY));
    expect(await pendingOf(owner)).toBe(5);
    expect(
      await database.rows(
        'SELECT COUNT(*) FROM key_events WHERE key_id IN (SELECT id FROM api_keys WHERE account_id = ?)',
        [owner.id],
      ),
    ).toEqual([[5]]);
  });

  it('can be searched by state and by any of its texts, also its owner’s name, in pages', async () => {
    const owner = await database.addOwner({ name: 'Zoë % Quux_ ', email: 'ZOE@covers.example' });
    const id = await database.keyIn('revealed', owner.id);
    const other = await database.keyIn('pending', owner.id);
    const found = async (text: string, state?: 'approved' | 'pending') =>
      (await listKeysWithAccounts(database, { text, state }, ALL)).map((key) => key.id);
    expect(await found('quux_')).toEqual([other, id]);
    expect(await found('zoe@COVERS')).toEqual([other, id]);
    expect(await found('quux_', 'approved')).toEqual([id]);
    expect(await found('quux%')).toEqual([]);
    const prefix = (await findKeyWithAccount(database, id))?.key_prefix as string;
    expect(await found(prefix)).toEqual([id]);
    expect((await listKeys(database, { text: 'quux_' })).map((key) => key.id)).toEqual([id, other]);
    const page = await listKeysWithAccounts(database, { text: 'quux_' }, { limit: 1, offset: 1 });
    expect(page.map((key) => [key.id, key.account_name])).toEqual([[id, owner.name]]);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it.each<readonly [field: string, text: string, message: string]>([
    ['purpose', '', 'Say what you are building.'],
    ['purpose', ' \r\n\u0000\t', 'Say what you are building.'],
    ['purpose', 'x'.repeat(5001), 'Your text has 5001 characters; at most 5000 are allowed.'],
    ...[
      ...['', 'tool.example', '//tool.example', 'https://', 'file:///etc/passwd'],
      ...['JaVaScRiPt:alert(1)', 'java\nscript:alert(1)', '\u0001javascript:alert(1)'],
      'data:text/html,<script>alert(1)</script>',
    ].map((url) => ['websiteUrl', url, 'http or https'] as const),
    ...['user:secret', 'user', ':secret'].map(
      (user) =>
        ['websiteUrl', `https://${user}@tool.example`, 'a user name or a password'] as const,
    ),
    ['websiteUrl', `https://tool.example/${'x'.repeat(1980)}`, '2001 characters; at most 2000'],
    ['websiteUrl', `https://tool.example/${'ü'.repeat(400)}`, '2421 characters; at most 2000'],
  ])('is refused with the %s %j', async (field, text, message) => {
    const owner = await database.addOwner();
    await expect(request(owner, { [field]: text })).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(message),
    });
    expect(await pendingOf(owner)).toBe(0);
  });

  it('is stored with an encoded address that fits into one line and an attribute', async () => {
    const owner = await database.addOwner();
    const { id } = await request(owner, {
      websiteUrl: 'https://tool.example/\r\nBcc: x" onclick=\'<b>',
    });
    const address = (await findKeyWithAccount(database, id))?.website_url;
    expect(address).toMatch(/^https:\/\/tool\.example\/Bcc:%20x%22%20onclick=/);
    expect(address).not.toMatch(/[\s"<>]/);
  });

  it.each([
    ['  Shelf\r\n app ', 'Shelf app'],
    ['', null],
    [' \u200b\u2060 ', null],
    ['\u202eevil\u2066', 'evil'],
    ['<b>&amp;</b>', '<b>&amp;</b>'],
    ['👩‍👩‍👧 ключ', '👩‍👩‍👧 ключ'],
    ['x'.repeat(60), 'x'.repeat(60)],
  ])('gets the name %j as %j', async (typed, name) => {
    const owner = await database.addOwner();
    const { id } = await request(owner);
    await renameKey(database, { id, accountId: owner.id, at: AT, name: typed });
    expect(await findKeyWithAccount(database, id)).toMatchObject({ name });
  });

  it('must belong to an existing account', async () => {
    await expect(request({ id: 77_777 } as Account)).rejects.toMatchObject({
      kind: 'missing',
      message: 'There is no account 77777.',
    });
    expect(await listKeysOf(database, 77_777, ALL)).toEqual([]);
  });

  it('is refused if five others of the account are under review', async () => {
    const owner = await database.addOwner();
    const first = await request(owner);
    for (let i = 1; i < MOST_PENDING; i++) await request(owner);
    await expect(request(owner)).rejects.toMatchObject({ kind: 'conflict', message: TOO_MANY });
    await rejectRequest(database, first.id, { reason: 'no', ...REVIEW });
    const { id } = await request(owner);
    await withdrawRequest(database, { id, accountId: owner.id, at: AT });
    await request(owner);
    await expect(request(owner)).rejects.toThrow(TOO_MANY);
    await request(await database.addOwner());
  });

  it('of others does not make the page of an account read more rows', async () => {
    const [owner, others] = [await database.addOwner(), await database.addOwner()];
    await request(owner);
    for (let i = 0; i < 30; i++) await database.keyIn('rejected', i % 2 ? owner.id : others.id);
    const statements: Parameters<Reader['rows']>[] = [];
    let read = 0;
    const observed: Database = {
      ...database,
      async rows(...statement) {
        statements.push(statement);
        const rows = await database.rows(...statement);
        read += rows.length;
        return rows;
      },
    };
    const keys = await listKeysOf(observed, owner.id, { limit: 5, offset: 0 });
    await usageOf(observed, [keys[0]?.id as number], { days: 30, now: AT });
    await hasMostPending(observed, owner.id);
    expect(keys).toHaveLength(5);
    expect(read).toBeLessThanOrEqual(8);
    expect(statements.length).toBeLessThanOrEqual(6);
    for (const [sql, parameters] of statements) {
      const plan = await database.rows(`EXPLAIN QUERY PLAN ${sql}`, parameters);
      expect(plan.map(([, , , step]) => step).join('\n'), sql).not.toMatch(
        /SCAN (api_keys|k\b|key_usage)/,
      );
    }
  });
});
