/** Requests for a higher limit: one that is approved raises the limit of its key, and never becomes a key itself. */
import { describe, expect, it } from 'vitest';
import { readKeys } from '#keys/export/export-keys.ts';
import { eventsOf } from '#keys/lifecycle/history.ts';
import { findKey } from '#keys/lifecycle/key-lists.ts';
import { requestHigherLimit } from '#keys/lifecycle/own-keys.ts';
import { approveRequest, changeLimit, rejectRequest, revokeKey } from '#keys/lifecycle/reviews.ts';
import { parseKeys } from '#lib/format/keys-file.ts';
import { KINDS } from '#test/support/databases.ts';
import { makeFolder } from '#test/support/product.ts';
import { AT, MODERATOR, openKeysDatabase, REVIEW } from './keys-database.ts';

describe.each(KINDS)('a request for a higher limit in a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);

  /** A key with 60 requests per minute, and a request for 600. */
  async function asked() {
    const { id: accountId, email } = await database.addOwner();
    const key = await database.keyIn('revealed', accountId);
    const request = { accountId, limitOf: key, limit: 600, purpose: 'long lists', at: AT };
    return { key, email, id: (await requestHigherLimit(database, request)).id };
  }
  const limitOf = async (key: number) => (await findKey(database, key))?.limit_per_minute;
  const mailsAbout = async (id: number) => {
    const sql = 'SELECT recipient, subject, body FROM mail_outbox WHERE key_id = ?';
    return (await database.rows(sql, [id])) as [string, string, string][];
  };

  it('that is approved changes the key, tells its owner, and makes no other key', async () => {
    const { key, id, email } = await asked();
    await approveRequest(database, id, { limit: 500, ...REVIEW });
    expect(await findKey(database, id)).toMatchObject({
      ...{ state: 'granted', limit_of: key, limit_per_minute: 500, present_limit: 500 },
      ...{ key_prefix: null, reviewed_by: MODERATOR },
    });
    const changed = { action: 'limit_changed', actor_id: MODERATOR, reason: `Request ${id}` };
    expect((await eventsOf(database, key)).at(-1)).toMatchObject({
      ...changed,
      limit_per_minute: 500,
    });
    expect(await eventsOf(database, id)).toMatchObject([
      { action: 'requested', limit_per_minute: 600 },
      { action: 'approved', limit_per_minute: 500 },
    ]);
    const [[recipient, subject, body] = [], ...more] = await mailsAbout(id);
    expect([recipient, more]).toEqual([email, []]);
    expect(subject).toBe(`Request ${id} is approved: key ${key} has a higher limit`);
    expect(body).toContain(`Key ${key} allows 500 requests per minute now.`);
    const exported = parseKeys((await readKeys(database, makeFolder())) ?? '');
    expect(exported.find((entry) => entry.id === key)?.limit).toBe(500);
    expect(exported.some((entry) => entry.id === id)).toBe(false);
  });

  it('that is rejected leaves the key as it is, and says so', async () => {
    const { key, id } = await asked();
    await rejectRequest(database, id, { reason: 'Use the archive.', ...REVIEW });
    expect(await limitOf(key)).toBe(60);
    const [[, subject, body] = []] = await mailsAbout(id);
    expect(subject).toBe(`Request ${id} for a higher limit was not approved`);
    expect(body).toContain(`key ${key} keeps its limit`);
  });

  it('cannot be approved with no higher limit than the key has by then, or once the key is revoked', async () => {
    const { key, id } = await asked();
    const approve = (limit: number) => approveRequest(database, id, { limit, ...REVIEW });
    await changeLimit(database, key, { limit: 600, ...REVIEW });
    await expect(approve(600)).rejects.toMatchObject({
      message: `Key ${key} has 600 requests per minute. Give it more, or reject the request.`,
      faults: [{ field: 'limit' }],
    });
    await revokeKey(database, key, { reason: 'leaked', ...REVIEW });
    await expect(approve(700)).rejects.toThrow(`Key ${key} is revoked. Reject the request.`);
    expect(await limitOf(key)).toBe(600);
    expect(await findKey(database, id)).toMatchObject({ state: 'pending', limit_per_minute: 600 });
    expect(await mailsAbout(id)).toEqual([]);
  });
});
