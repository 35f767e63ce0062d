/** Rotation with an overlap: how long the old key works, for which proxy, and what ends it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey } from '../../format/api-key.ts';
import { type KeyEntry, parseKeys } from '../../format/keys-file.ts';
import { exportKeys, readKeys } from '../../generator/keys/export-keys.ts';
import { eventsOf } from '../../keys/lifecycle/history.ts';
import { findKey } from '../../keys/lifecycle/key-lists.ts';
import { endOverlap, revealKey, revokeOwnKey, rotateKey } from '../../keys/lifecycle/own-keys.ts';
import { suspendKey } from '../../keys/lifecycle/reviews.ts';
import { toDatabaseTime } from '../../keys/tables/database-time.ts';
import { KINDS } from '../support/databases.ts';
import { makeFolder, startProxy, until } from '../support/product.ts';
import { AT, type KeysDatabase, MODERATOR, openKeysDatabase, PUBLIC_URL } from './keys-database.ts';

const HOUR = 3_600_000;

describe.each(KINDS)('a rotated key in a %s database', (kind) => {
  let database: KeysDatabase;
  beforeAll(async () => {
    database = await openKeysDatabase(kind);
  });
  afterAll(() => database.close());

  async function revealed() {
    const { id: accountId } = await database.addOwner();
    const id = await database.keyIn('approved', accountId);
    const own = { id, accountId, at: AT, publicUrl: PUBLIC_URL };
    return { own, first: (await revealKey(database, own)).key };
  }
  async function exported(id: number, afterHours: number): Promise<KeyEntry | undefined> {
    const now = new Date(AT.getTime() + afterHours * HOUR);
    return parseKeys(await readKeys(database, now)).find((key) => key.id === id);
  }
  const refusalOf = (action: Promise<unknown>) =>
    action.then(
      () => 'not refused',
      ({ message }: Error) => message,
    );

  it('works beside the new one until the end of the overlap', async () => {
    const { own, first } = await revealed();
    const { key, oldUntil } = await rotateKey(database, { ...own, overlapHours: 24 });
    expect(oldUntil).toEqual(new Date(AT.getTime() + 24 * HOUR));
    const previous = { hash: hashKey(first), endsAt: AT.getTime() + 24 * HOUR };
    const entry = { id: own.id, hash: hashKey(key), state: 'approved', limit: 60 };
    expect(await exported(own.id, 23.99)).toEqual({ ...entry, previous });
    expect(await exported(own.id, 24)).toEqual(entry);
    expect(await findKey(database, own.id)).toMatchObject({
      key_prefix: key.slice(0, 8),
      previous_prefix: first.slice(0, 8),
      previous_until: '2026-03-05 05:06:07',
    });
    expect((await eventsOf(database, own.id)).at(-1)).toMatchObject({
      action: 'rotated',
      reason: 'The old key works until 5 Mar 2026, 05:06 UTC',
    });
  });

  it('stops at once without an overlap, and with the next rotation', async () => {
    const { own, first } = await revealed();
    await rotateKey(database, own);
    expect(await exported(own.id, 0)).not.toHaveProperty('previous');
    const second = await rotateKey(database, { ...own, overlapHours: 1 });
    const third = await rotateKey(database, { ...own, overlapHours: 1 });
    expect(await exported(own.id, 0)).toMatchObject({
      hash: hashKey(third.key),
      previous: { hash: hashKey(second.key) },
    });
    await rotateKey(database, own);
    expect(await exported(own.id, 0)).not.toHaveProperty('previous');
    expect(await readKeys(database, AT)).not.toContain(hashKey(first));
  });

  it('is stopped early by its owner, once', async () => {
    const { own } = await revealed();
    expect(await refusalOf(endOverlap(database, own))).toMatch('no old key that still works');
    await rotateKey(database, { ...own, overlapHours: 168 });
    await endOverlap(database, own);
    expect(await exported(own.id, 0)).not.toHaveProperty('previous');
    expect(await refusalOf(endOverlap(database, own))).toMatch('no old key that still works');
    expect((await eventsOf(database, own.id)).at(-1)?.action).toBe('overlap_ended');
    await rotateKey(database, { ...own, overlapHours: 1 });
    const late = { ...own, at: new Date(AT.getTime() + HOUR) };
    expect(await refusalOf(endOverlap(database, late))).toMatch('no old key that still works');
  });

  it('stops when the key is suspended or revoked', async () => {
    const { own } = await revealed();
    await rotateKey(database, { ...own, overlapHours: 168 });
    await suspendKey(database, own.id, {
      reason: 'a flood',
      by: MODERATOR,
      at: AT,
      publicUrl: PUBLIC_URL,
    });
    expect(await exported(own.id, 0)).toMatchObject({ state: 'suspended' });
    await revokeOwnKey(database, own);
    expect(await exported(own.id, 0)).toMatchObject({ state: 'revoked' });
  });

  it.each([-1, 168.1, 1000, Number.NaN, Number.POSITIVE_INFINITY])(
    'cannot work for %d hours',
    async (overlapHours) => {
      const { own, first } = await revealed();
      expect(await refusalOf(rotateKey(database, { ...own, overlapHours }))).toBe(
        'The old key can work for 0 to 168 hours beside the new one.',
      );
      expect((await exported(own.id, 0))?.hash).toBe(hashKey(first));
    },
  );

  // The proxy has no database, so one is enough.
  it.runIf(kind === 'sqlite')(
    'is refused by the proxy when its time is over, though nothing exports the keys',
    async () => {
      const { own, first } = await revealed();
      const { key } = await rotateKey(database, { ...own, at: new Date(), overlapHours: 1 });
      await database.run('UPDATE api_keys SET limit_per_minute = 1000000 WHERE id = ?', [own.id]);
      const folder = makeFolder();
      await exportKeys(database, folder);
      const proxy = await startProxy(folder);
      // Without a snapshot, a valid key gets 503, and its requests count.
      const statusOf = async (raw: string) => (await proxy.get('/stats', raw)).status;
      const remaining = async (raw: string) =>
        Number((await proxy.get('/stats', raw)).headers['x-ratelimit-remaining']);
      await until(async () => JSON.parse((await proxy.readyz()).text).keys > 0);
      const left = await remaining(first);
      expect([await remaining(key), await remaining(first)]).toEqual([left - 1, left - 2]);
      const soon = Math.ceil(Date.now() / 1000) * 1000 + 3_000;
      await database.run('UPDATE api_keys SET previous_until = ? WHERE id = ?', [
        ...[toDatabaseTime(new Date(soon)), own.id],
      ]);
      await exportKeys(database, folder);
      await until(async () => (await statusOf(first)) === 401);
      expect(Date.now()).toBeGreaterThanOrEqual(soon);
      expect(await statusOf(key)).toBe(503);
      await proxy.stop();
    },
  );
});
