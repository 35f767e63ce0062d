/** Sign-in links and the sessions that they start. A link works once, for a limited time. */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '#keys/lifecycle/history.ts';
import { listKeysOf } from '#keys/lifecycle/key-lists.ts';
import { revokeOwnKey } from '#keys/lifecycle/own-keys.ts';
import { approveRequest } from '#keys/lifecycle/reviews.ts';
import {
  createSession,
  endSession,
  findSession,
  mailSignInLink,
  removeOldSignIns,
  SESSION_SECONDS,
} from '#keys/lifecycle/sign-in.ts';
import { findAccount, listAccounts } from '#keys/tables/accounts.ts';
import { addLink, openLink } from '#keys/tables/sign-in-links.ts';
import { KINDS } from '#test/support/databases.ts';
import { AT, later, MODERATOR, openKeysDatabase, PUBLIC_URL, REVIEW } from './keys-database.ts';

const MINUTE = 60;

describe.each(KINDS)('signing in with a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);

  const mailsTo = async (email: string) =>
    (
      await database.rows('SELECT body FROM mail_outbox WHERE recipient = ? ORDER BY id', [email])
    ).map(([body]) => String(body));
  const mailLink = (email: string, at = AT) =>
    mailSignInLink(database, email, { at, publicUrl: PUBLIC_URL });
  const newLink = async () => {
    const owner = await database.addOwner();
    return { owner, token: (await addLink(database, owner.id, AT)).token };
  };

  it('accepts a link once, however many use it at the same time', async () => {
    const { owner, token } = await newLink();
    const opened = await Promise.all([1, 2, 3, 4].map(() => openLink(database, token, AT)));
    expect(opened.filter((result) => result !== undefined)).toEqual([owner.id]);
    expect(await openLink(database, token, AT)).toBeUndefined();
  });

  it('refuses a sixth link without waiting for the lock of the account', async () => {
    const owner = await database.addOwner();
    for (let i = 0; i < 5; i++) expect(await mailLink(owner.email)).toBe(true);
    // Another transaction holds the lock of the account; on SQLite that of the whole database.
    const locked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const other = database.transaction(async (writer) => {
      await writer.run('UPDATE request_turns SET turns = turns + 1 WHERE account_id = ?', [
        owner.id,
      ]);
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    // If one waited for the lock, it would wait for this test.
    const answers = Promise.all([mailLink(owner.email), mailLink('nobody@covers.example')]);
    expect(await answers).toEqual([false, false]);
    released.resolve();
    await other;
  });

  it('distinguishes two accounts whose addresses differ only in case', async () => {
    const upper = await database.addOwner({ email: 'SAME@covers.example' });
    await database.addOwner({ email: 'same@covers.example' });
    expect(await mailLink('Same@covers.example')).toBe(false);
    expect(await mailLink('SAME@covers.example')).toBe(true);
    expect(await mailsTo(upper.email)).toHaveLength(1);
  });

  it('sends an account at most five links in 15 minutes', async () => {
    const owner = await database.addOwner();
    await Promise.all(Array.from({ length: 30 }, () => mailLink(owner.email)));
    expect(await mailsTo(owner.email)).toHaveLength(5);
    expect(await mailLink(owner.email, later(15 * MINUTE - 1))).toBe(false);
    expect(await mailLink(owner.email, later(15 * MINUTE))).toBe(true);
  });

  it('recognises a session until it ends, by a token of which only the hash is stored', async () => {
    const { owner } = await newLink();
    const token = await createSession(database, owner.id, AT);
    expect(await findSession(database, token, later(SESSION_SECONDS - 1))).toBe(owner.id);
    expect(await findSession(database, token, later(SESSION_SECONDS))).toBeUndefined();
    const stored = JSON.stringify(await database.rows('SELECT * FROM sessions'));
    expect(stored).toContain(hash('sha256', token));
    expect(stored).not.toContain(token);
    expect(await findSession(database, hash('sha256', token), AT)).toBeUndefined();
    const other = await createSession(database, owner.id, AT);
    await endSession(database, token);
    expect(await findSession(database, token, AT)).toBeUndefined();
    expect(await findSession(database, other, AT)).toBeDefined();
  });

  it('keeps all digits of the ids of accounts', async () => {
    // The largest of the server's BIGINT UNSIGNED, and of SQLite.
    const ids =
      kind === 'mysql'
        ? ['18446744073709551614', '18446744073709551615']
        : ['9223372036854775806', '9223372036854775807'];
    const owners = [];
    for (const id of ids) owners.push(await database.addOwner({ id }));
    expect((await listAccounts(database)).slice(-2)).toEqual(owners);
    for (const owner of owners) {
      expect(await findAccount(database, owner.id)).toEqual(owner);
      expect(await mailLink(owner.email)).toBe(true);
      expect(await mailsTo(owner.email)).toEqual([expect.stringContaining(`_id":"${owner.id}"`)]);
      const { token } = await addLink(database, owner.id, AT);
      expect(await openLink(database, token, AT)).toBe(owner.id);
      const session = await createSession(database, owner.id, AT);
      expect(await findSession(database, session, AT)).toBe(owner.id);
      const id = await database.keyIn('revealed', owner.id);
      const [other = owner] = owners.filter((each) => each !== owner);
      const own = { id, at: AT, publicUrl: PUBLIC_URL };
      await expect(revokeOwnKey(database, { ...own, accountId: other.id })).rejects.toThrow(
        'There is no key',
      );
      await approveRequest(database, await database.keyIn('pending', MODERATOR), {
        ...REVIEW,
        by: owner.id,
        limit: 60,
      });
      await revokeOwnKey(database, { ...own, accountId: owner.id });
      expect(await listKeysOf(database, owner.id, { limit: 9, offset: 0 })).toMatchObject([
        { id, account_id: owner.id, state: 'revoked' },
      ]);
      expect((await eventsOf(database, id)).at(-1)).toMatchObject({ actor_id: owner.id });
    }
    const reviewers = await database.rows('SELECT reviewed_by FROM api_keys ORDER BY id');
    expect(reviewers.flat().filter((id) => id !== null && ids.includes(String(id)))).toEqual(ids);
    if (kind === 'sqlite') return;
    // The id of a site's view may be an expression.
    await database.run('RENAME TABLE accounts TO people');
    await database.run(
      'CREATE VIEW accounts AS SELECT id + 0 AS id, email, name, role FROM people',
    );
    for (const owner of owners) expect(await findAccount(database, owner.id)).toEqual(owner);
    await database.run('DROP VIEW accounts');
    await database.run('RENAME TABLE people TO accounts');
  });

  it('deletes links and sessions some time after they have expired', async () => {
    const { owner } = await newLink();
    await createSession(database, owner.id, AT);
    const muchLater = later(2 * SESSION_SECONDS + 1);
    await mailLink(owner.email, muchLater);
    await createSession(database, owner.id, muchLater);
    await removeOldSignIns(database, muchLater);
    expect(await database.rows('SELECT COUNT(*) FROM sign_in_links')).toEqual([[1]]);
    expect(await database.rows('SELECT COUNT(*) FROM sessions')).toEqual([[1]]);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('accepts a link for exactly 15 minutes', async () => {
    const first = await newLink();
    const second = await newLink();
    expect(await openLink(database, first.token, later(15 * MINUTE - 1))).toBe(first.owner.id);
    expect(await openLink(database, second.token, later(15 * MINUTE))).toBeUndefined();
  });

  it('refuses unknown tokens and the hash of a token', async () => {
    const { token } = await newLink();
    for (const forged of ['', 'x', hash('sha256', token), `${token} `, token.toUpperCase()]) {
      expect(await openLink(database, forged, AT)).toBeUndefined();
    }
    expect(await openLink(database, token, AT)).toBeDefined();
  });

  it('sends mail to the stored address, not to the typed one', async () => {
    const owner = await database.addOwner({ email: 'Mixed.Case@covers.example' });
    expect(await mailLink('mixed.CASE@covers.example')).toBe(true);
    expect(await mailsTo(owner.email)).toHaveLength(1);
  });
});
