/** The history of keys: what it records, and that it cannot be changed. */
import { describe, expect, it } from 'vitest';
import { eventsOf } from '#keys/lifecycle/history.ts';
import { revealKey, revokeOwnKey, rotateKey } from '#keys/lifecycle/own-keys.ts';
import { approveRequest, changeLimit, issueKey, revokeKey } from '#keys/lifecycle/reviews.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { KINDS } from '#test/support/databases.ts';
import { AT, later, MODERATOR, openKeysDatabase, PUBLIC_URL } from './keys-database.ts';

const REFUSAL = 'The history of keys cannot be rewritten.';

describe.each(KINDS)('the history of keys in a %s database', async (kind) => {
  const database = await openKeysDatabase(kind);

  it.each([
    "UPDATE key_events SET reason = 'nothing happened'",
    'UPDATE key_events SET at = at WHERE id = 1',
    'UPDATE key_events SET id = id + 1000000',
    'DELETE FROM key_events',
    'DELETE FROM key_events WHERE id = 1',
    `REPLACE INTO key_events (id, key_id, at, action) VALUES (1, 1, '2026-01-01 00:00:00', 'x')`,
    ...(kind === 'sqlite'
      ? [
          `INSERT OR REPLACE INTO key_events (id, key_id, at, action) VALUES (1, 1, '', 'x')`,
          'UPDATE OR REPLACE key_events SET id = 1 WHERE id = 2',
          "UPDATE OR IGNORE key_events SET reason = 'x'",
          `INSERT INTO key_events (id, key_id, at, action) VALUES (1, 1, '', 'x')
             ON CONFLICT (id) DO UPDATE SET reason = 'x'`,
        ]
      : [
          `INSERT INTO key_events (id, key_id, at, action) VALUES (1, 1, '2026-01-01 00:00:00', 'x')
             ON DUPLICATE KEY UPDATE reason = 'x'`,
          'DELETE k, e FROM api_keys k JOIN key_events e ON e.key_id = k.id',
        ]),
  ])('cannot be rewritten by %s', async (sql) => {
    await issueKey(database, { limit: 5, purpose: 'x', at: AT });
    await issueKey(database, { limit: 5, purpose: 'x', at: AT });
    const before = await database.rows('SELECT * FROM key_events ORDER BY id');
    const keys = await database.rows('SELECT COUNT(*) FROM api_keys');
    await expect(database.run(sql)).rejects.toThrow(REFUSAL);
    expect(await database.rows('SELECT * FROM key_events ORDER BY id')).toEqual(before);
    expect(await database.rows('SELECT COUNT(*) FROM api_keys')).toEqual(keys);
  });

  it('is kept after its key is deleted', async () => {
    const { id } = await issueKey(database, { limit: 5, purpose: 'x', at: AT });
    await database.run('DELETE FROM api_keys WHERE id = ?', [id]);
    expect(await eventsOf(database, id)).toHaveLength(1);
  });

  it('is written in the same transaction as the change that it records', async () => {
    const { id: accountId } = await database.addOwner();
    const id = await database.keyIn('approved', accountId);
    await database.run('ALTER TABLE key_events RENAME TO events_elsewhere');
    try {
      await expect(revealKey(database, { id, accountId, at: AT })).rejects.toThrow(/key_events/);
    } finally {
      await database.run('ALTER TABLE events_elsewhere RENAME TO key_events');
    }
    const [row] = await database.rows('SELECT key_hash FROM api_keys WHERE id = ?', [id]);
    expect(row).toEqual([null]);
    await revealKey(database, { id, accountId, at: AT });
    await expect(database.run('DELETE FROM key_events')).rejects.toThrow(REFUSAL);
  });

  it('is protected by the program that starts first, or by several at once', async () => {
    const names = ['key_events_update', 'key_events_delete'];
    for (const name of names) await database.run(`DROP TRIGGER ${name}`);
    const others = await Promise.all([1, 2, 3].map(() => openDatabase(database.url)));
    await Promise.all(others.map((other) => createKeysTables(other)));
    await Promise.all(others.map((other) => other.close()));
    await issueKey(database, { limit: 5, purpose: 'x', at: AT });
    for (const sql of ['DELETE FROM key_events', 'UPDATE key_events SET at = at']) {
      await expect(database.run(sql)).rejects.toThrow(REFUSAL);
    }
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('records for each action the actor, the time, the reason and the limit', async () => {
    const { id: accountId } = await database.addOwner();
    const id = await database.keyIn('pending', accountId);
    const by = MODERATOR;
    await approveRequest(database, id, { limit: 60, by, at: later(1), publicUrl: PUBLIC_URL });
    await revealKey(database, { id, accountId, at: later(2) });
    await changeLimit(database, id, { limit: 90, by: null, at: later(3) });
    await rotateKey(database, { id, accountId, at: later(4), publicUrl: PUBLIC_URL });
    await rotateKey(database, { id, accountId: null, at: later(5), publicUrl: PUBLIC_URL });
    await revokeKey(database, id, { reason: 'a\r\nb', by, at: later(6), publicUrl: PUBLIC_URL });
    const events = await eventsOf(database, id);
    expect(
      events.map(({ at, actor_id, action, reason, limit_per_minute }) => [
        ...[at.slice(-2), actor_id, action, reason, limit_per_minute],
      ]),
    ).toEqual([
      ['07', accountId, 'requested', null, null],
      ['08', by, 'approved', null, 60],
      ['09', accountId, 'revealed', null, null],
      ['10', null, 'limit_changed', null, 90],
      ['11', accountId, 'rotated', null, null],
      ['12', null, 'rotated', null, null],
      ['13', by, 'revoked', 'a\nb', null],
    ]);
    expect(events[1]).toMatchObject({ at: '2026-03-04 05:06:08', actor_name: 'Mo' });
  });

  it('records that a key was issued by an operator or revoked by its owner', async () => {
    const issued = await issueKey(database, { limit: 5, purpose: 'x', at: AT });
    expect(await eventsOf(database, issued.id)).toEqual([
      expect.objectContaining({ action: 'issued', actor_id: null, limit_per_minute: 5 }),
    ]);
    const { id: accountId } = await database.addOwner();
    const id = await database.keyIn('approved', accountId);
    await revokeOwnKey(database, { id, accountId, at: AT, publicUrl: PUBLIC_URL });
    expect((await eventsOf(database, id)).at(-1)).toMatchObject({
      action: 'revoked',
      actor_id: accountId,
      reason: null,
    });
  });
});
