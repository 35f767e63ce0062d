/** How many changes an account may make in an hour. */
import { describe, expect, it } from 'vitest';
import {
  renameKey,
  requestKey,
  revealKey,
  revokeOwnKey,
  rotateKey,
  withdrawRequest,
} from '#keys/lifecycle/own-keys.ts';
import { approveRequest, changeLimit } from '#keys/lifecycle/reviews.ts';
import type { AccountId } from '#keys/tables/values.ts';
import { KINDS } from '#test/support/databases.ts';
import { later, MODERATOR, openKeysDatabase, PUBLIC_URL, REVIEW } from './keys-database.ts';

const HOUR = 3600;

describe.each(KINDS)('with a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);

  const request = (accountId: AccountId, seconds = 0) =>
    requestKey(database, {
      ...{ accountId, at: later(seconds), purpose: 'a tool', websiteUrl: 'https://tool.example' },
    });
  /** Requests and withdraws. */
  async function change(accountId: AccountId, times: number, seconds = 0): Promise<void> {
    for (let i = 0; i < times; i++) {
      const { id } = await request(accountId, seconds);
      await withdrawRequest(database, { id, accountId, at: later(seconds) });
    }
  }
  const eventsBy = async (accountId: AccountId) => {
    const sql = 'SELECT COUNT(*) FROM key_events WHERE actor_id = ?';
    return (await database.rows(sql, [accountId]))[0]?.[0];
  };

  it('an account makes twenty changes in any hour, and is told when it can make the next', async () => {
    const { id: accountId } = await database.addOwner();
    const { id } = await request(accountId);
    await change(accountId, 9, 60);
    await renameKey(database, { id, accountId, at: later(120), name: 'x' });
    const own = { id, accountId, at: later(HOUR - 1), publicUrl: PUBLIC_URL };
    for (const refused of [
      () => request(accountId, HOUR - 1),
      () => withdrawRequest(database, own),
      () => renameKey(database, { ...own, name: 'y' }),
      () => revokeOwnKey(database, own),
      () => rotateKey(database, own),
      () => revealKey(database, own),
    ]) {
      await expect(refused()).rejects.toMatchObject({
        kind: 'limited',
        message: 'You have made 20 changes in an hour. The next one is possible in a minute.',
        retryAfterSeconds: 1,
      });
    }
    expect(await eventsBy(accountId)).toBe(20);
    await withdrawRequest(database, { ...own, at: later(HOUR) });
    await expect(request(accountId, HOUR)).rejects.toMatchObject({ retryAfterSeconds: 60 });
    await change(accountId, 9, HOUR + 60);
    await change((await database.addOwner()).id, 1, HOUR);
  });

  it('twenty changes are counted exactly when many are made at once', async () => {
    const { id } = await database.addOwner();
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => change(id, 5)));
    const reasons = outcomes.map((one) => one.status === 'rejected' && one.reason.kind);
    expect(reasons).toContain('limited');
    expect(await eventsBy(id)).toBeLessThanOrEqual(20);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('moderators are not limited, and what they do does not count for the owner', async () => {
    const { id: owner } = await database.addOwner();
    const { id } = await request(owner);
    await approveRequest(database, id, { limit: 1, ...REVIEW });
    for (let limit = 2; limit < 30; limit++) await changeLimit(database, id, { limit, ...REVIEW });
    // Decisions about other people's keys do not count as changes to the moderator's own keys.
    await request(MODERATOR);
    await change(owner, 1);
    expect(await eventsBy(owner)).toBe(3);
  });
});
