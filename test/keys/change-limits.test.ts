/** How many changes an account may make in an hour, and how often a key may be rotated in a day. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revealKey, revokeOwnKey, rotateKey } from '../../keys/lifecycle/own-keys.ts';
import { renameKey, requestKey, withdrawRequest } from '../../keys/lifecycle/own-requests.ts';
import type { Refusal } from '../../keys/lifecycle/refusal.ts';
import { approveRequest, changeLimit } from '../../keys/lifecycle/reviews.ts';
import type { Account } from '../../keys/tables/accounts.ts';
import { KINDS } from '../support/databases.ts';
import { AT, type KeysDatabase, MODERATOR, openKeysDatabase, PUBLIC_URL } from './keys-database.ts';

const HOUR = 3600;
const later = (seconds: number) => new Date(AT.getTime() + seconds * 1000);

describe.each(KINDS)('with a %s database', (kind) => {
  let database: KeysDatabase;
  beforeAll(async () => {
    database = await openKeysDatabase(kind);
  });
  afterAll(() => database.close());

  const request = ({ id }: Account, seconds = 0, by?: null) =>
    requestKey(database, {
      ...{ accountId: id, at: later(seconds), ...(by === null ? { by } : {}) },
      ...{ purpose: 'a tool', websiteUrl: 'https://tool.example' },
    });
  /** Requests and withdraws. */
  async function change(owner: Account, times: number, seconds = 0): Promise<void> {
    for (let i = 0; i < times; i++) {
      const { id } = await request(owner, seconds);
      await withdrawRequest(database, { id, accountId: owner.id, at: later(seconds) });
    }
  }
  const countOf = async (sql: string, id: number) => Number((await database.rows(sql, [id]))[0][0]);
  const eventsBy = (owner: Account) =>
    countOf('SELECT COUNT(*) FROM key_events WHERE actor_id = ?', owner.id);

  it('an account makes twenty changes in any hour, and is told when it can make the next', async () => {
    const owner = await database.addOwner();
    const { id: pending } = await request(owner);
    await change(owner, 9, 60);
    await renameKey(database, { id: pending, accountId: owner.id, at: later(120), name: 'x' });
    const own = { id: pending, accountId: owner.id, at: later(HOUR - 1), publicUrl: PUBLIC_URL };
    for (const refused of [
      () => request(owner, HOUR - 1),
      () => withdrawRequest(database, own),
      () => renameKey(database, { ...own, name: 'y' }),
      () => revokeOwnKey(database, own),
      () => rotateKey(database, own),
      () => revealKey(database, own),
    ]) {
      await expect(refused()).rejects.toMatchObject({
        kind: 'limited',
        message:
          'You have made 20 changes in an hour. The next one is possible on 4 Mar 2026, 06:07 UTC.',
        retryAfterSeconds: 1,
      });
    }
    expect(await eventsBy(owner)).toBe(20);
    await withdrawRequest(database, { ...own, at: later(HOUR) });
    await expect(request(owner, HOUR)).rejects.toMatchObject({ retryAfterSeconds: 60 });
    await change(owner, 9, HOUR + 60);
    await change(await database.addOwner(), 1, HOUR);
  });

  it('twenty changes are counted exactly when many are made at once', async () => {
    const owner = await database.addOwner();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, () => change(owner, 5, 0)),
    );
    const reasons = outcomes.map((one) => one.status === 'rejected' && one.reason.kind);
    expect(reasons).toContain('limited');
    expect(await eventsBy(owner)).toBeLessThanOrEqual(20);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('moderators and operators are not limited, and what they do does not count for the owner', async () => {
    const [moderator] = await database.objects(
      'id, email, name, role',
      'FROM accounts WHERE id = ?',
      [MODERATOR],
    );
    const owner = await database.addOwner();
    const { id } = await request(owner);
    const review = { by: MODERATOR, at: AT, publicUrl: PUBLIC_URL };
    await approveRequest(database, id, { limit: 1, ...review });
    for (let limit = 2; limit < 30; limit++) await changeLimit(database, id, { limit, ...review });
    // A moderator's decisions about other people's keys do not count as changes to the moderator's own keys.
    await request(moderator as unknown as Account);
    for (let i = 0; i < 25; i++) {
      const own = await request(owner, 0, null);
      await withdrawRequest(database, { id: own.id, accountId: 'operator', at: AT });
    }
    await change(owner, 1);
    expect(await eventsBy(owner)).toBe(3);
  });

  it('a key is rotated at most five times in a day, also by operators', async () => {
    const owner = await database.addOwner();
    const id = await database.keyIn('revealed', owner.id);
    const other = await database.keyIn('revealed', owner.id);
    const rotate = (seconds: number, accountId: number | 'operator' = owner.id, key = id) =>
      rotateKey(database, { id: key, accountId, at: later(seconds), publicUrl: PUBLIC_URL });
    for (let i = 0; i < 4; i++) await rotate(i * HOUR);
    const hash = () => database.rows('SELECT key_hash FROM api_keys WHERE id = ?', [id]);
    const all = await Promise.allSettled([1, 2, 3].map(() => rotate(5 * HOUR)));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const before = await hash();
    for (const who of [owner.id, 'operator'] as const) {
      const refusal: Refusal = await rotate(24 * HOUR - 30, who).then(
        () => expect.unreachable(),
        (error) => error,
      );
      expect([refusal.kind, refusal.retryAfterSeconds]).toEqual(['limited', 30]);
      expect(refusal.message).toBe(
        `Key ${id} was rotated 5 times in a day. The next one is possible on 5 Mar 2026, 05:07 UTC.`,
      );
    }
    expect(await hash()).toEqual(before);
    await rotate(24 * HOUR - 30, owner.id, other);
    await rotate(24 * HOUR);
    expect(await hash()).not.toEqual(before);
    expect(
      await countOf("SELECT COUNT(*) FROM key_events WHERE key_id = ? AND action = 'rotated'", id),
    ).toBe(6);
  });
});
