/** Trial keys: they work before the review, with a small limit, for a while, and once per account. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../format/api-key.ts';
import { type KeyEntry, parseKeys } from '../../format/keys-file.ts';
import { readKeys } from '../../generator/keys/export-keys.ts';
import { eventsOf } from '../../keys/lifecycle/history.ts';
import { revealKey, rotateKey } from '../../keys/lifecycle/own-keys.ts';
import { mayHaveTrial, requestKey, withdrawRequest } from '../../keys/lifecycle/own-requests.ts';
import { approveRequest, rejectRequest } from '../../keys/lifecycle/reviews.ts';
import { KINDS } from '../support/databases.ts';
import { AT, type KeysDatabase, MODERATOR, openKeysDatabase, PUBLIC_URL } from './keys-database.ts';

const DAY = 24 * 3_600_000;
const REVIEW = { by: MODERATOR, at: AT, publicUrl: PUBLIC_URL };
const daysLater = (days: number) => new Date(AT.getTime() + days * DAY);

describe.each(KINDS)('a trial key in a %s database', (kind) => {
  let database: KeysDatabase;
  beforeAll(async () => {
    database = await openKeysDatabase(kind);
  });
  afterAll(() => database.close());

  const request = (accountId: number, at = AT, trialLimit: number | undefined = 30) =>
    requestKey(database, {
      accountId,
      at,
      trialLimit,
      purpose: 'a tool',
      websiteUrl: 'https://tool.example',
    });
  async function revealed() {
    const { id: accountId } = await database.addOwner();
    const { id, isTrial } = await request(accountId);
    expect(isTrial).toBe(true);
    const own = { id, accountId, at: AT, publicUrl: PUBLIC_URL };
    return { own, key: (await revealKey(database, own)).key };
  }
  async function exported(id: number, afterDays = 0): Promise<KeyEntry | undefined> {
    return parseKeys(await readKeys(database, daysLater(afterDays))).find((key) => key.id === id);
  }
  const lastMail = async (id: number) =>
    (
      await database.rows('SELECT subject, body FROM mail_outbox WHERE key_id = ? ORDER BY id', [
        id,
      ])
    )
      .at(-1)
      ?.join('\n');

  it('works at once with its limit, and ends after 14 days without a review', async () => {
    const { own, key } = await revealed();
    const entry = { id: own.id, hash: hashKey(key), limit: 30 };
    const endsAt = daysLater(14).getTime();
    expect(await exported(own.id)).toEqual({ ...entry, state: 'approved', endsAt });
    expect(await exported(own.id, 13.99)).toMatchObject({ state: 'approved' });
    expect(await exported(own.id, 14)).toEqual({ ...entry, state: 'revoked' });
    expect((await eventsOf(database, own.id)).map(({ action }) => action)).toEqual([
      'requested',
      'revealed',
    ]);
  });

  it('gets its full limit when it is approved, even after its end', async () => {
    for (const days of [1, 20]) {
      const { own, key } = await revealed();
      await approveRequest(database, own.id, { limit: 600, ...REVIEW, at: daysLater(days) });
      expect(await exported(own.id, 21)).toEqual({
        id: own.id,
        hash: hashKey(key),
        state: 'approved',
        limit: 600,
      });
      expect(await lastMail(own.id)).toMatch(
        /full limit\n[\s\S]*now allows 600 requests per minute/,
      );
    }
  });

  it('stops when its request is rejected or withdrawn', async () => {
    const rejected = await revealed();
    await rejectRequest(database, rejected.own.id, { reason: 'no', ...REVIEW });
    expect(await exported(rejected.own.id)).toMatchObject({ state: 'rejected' });
    expect(await lastMail(rejected.own.id)).toContain('its trial key no longer works');
    const withdrawn = await revealed();
    await withdrawRequest(database, withdrawn.own);
    expect(await exported(withdrawn.own.id)).toMatchObject({ state: 'revoked' });
  });

  it('can be rotated, but not after its end', async () => {
    const { own } = await revealed();
    const { key } = await rotateKey(database, { ...own, overlapHours: 24 });
    expect(await exported(own.id)).toMatchObject({
      hash: hashKey(key),
      state: 'approved',
      previous: { endsAt: daysLater(1).getTime() },
    });
    await expect(rotateKey(database, { ...own, at: daysLater(14) })).rejects.toThrow(
      `Key ${own.id} is pending: only an approved key can be rotated.`,
    );
  });

  it('is given to an account once in 30 days, however many requests it sends or withdraws', async () => {
    const { id: accountId } = await database.addOwner();
    const first = await request(accountId);
    await withdrawRequest(database, { id: first.id, accountId, at: AT });
    const second = await request(accountId, daysLater(29));
    expect(second.isTrial).toBe(false);
    expect(await mayHaveTrial(database, accountId, daysLater(29))).toBe(false);
    await expect(
      revealKey(database, { id: second.id, accountId, at: daysLater(29) }),
    ).rejects.toThrow('is pending: only an approved key can be revealed');
    expect(await mayHaveTrial(database, accountId, daysLater(30))).toBe(true);
    expect((await request(accountId, daysLater(30))).isTrial).toBe(true);
  });

  it('is one of many simultaneous requests of an account', async () => {
    const { id: accountId } = await database.addOwner();
    const made = await Promise.allSettled([1, 2, 3, 4, 5].map(() => request(accountId)));
    const trials = made.filter((each) => each.status === 'fulfilled' && each.value.isTrial);
    expect(trials).toHaveLength(1);
  });

  it('is not given if the operator does not allow it', async () => {
    const { id: accountId } = await database.addOwner();
    const { id, isTrial } = await requestKey(database, {
      accountId,
      at: AT,
      purpose: 'a tool',
      websiteUrl: 'https://tool.example',
    });
    expect(isTrial).toBe(false);
    await expect(revealKey(database, { id, accountId, at: AT })).rejects.toThrow('is pending');
    expect(await exported(id)).toBe(undefined);
  });
});
