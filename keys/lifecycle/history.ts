/**
 * The history of keys: who did what to which key, when and why. An event is written in the same
 * transaction as its move. Rows are only ever added.
 */
import type { Reader, Writer } from '../../database/database.ts';
import { toDatabaseTime } from '../tables/database-time.ts';
import { toNumber, toText } from '../tables/values.ts';

export const EVENT_ACTIONS = [
  'requested',
  'issued',
  'approved',
  'rejected',
  'revealed',
  'rotated',
  'revoked',
  'limit_changed',
] as const;
export type EventAction = (typeof EVENT_ACTIONS)[number];

export interface KeyEvent {
  readonly id: number;
  readonly key_id: number;
  /** "YYYY-MM-DD HH:MM:SS" in UTC. */
  readonly at: string;
  /** The account that did it; null: an operator at the command line. */
  readonly actor_id: number | null;
  readonly action: EventAction;
  /** Why it was rejected or revoked. */
  readonly reason: string | null;
  /** The limit that it got, in requests a minute, where the action sets one. */
  readonly limit_per_minute: number | null;
}

/** Adds an event. Call it in the transaction that makes the move. */
export async function recordEvent(
  writer: Writer,
  event: {
    readonly keyId: number;
    readonly at: Date;
    readonly actorId: number | null;
    readonly action: EventAction;
    readonly reason?: string | undefined;
    readonly limit?: number | undefined;
  },
): Promise<void> {
  await writer.run(
    `INSERT INTO key_events (key_id, at, actor_id, action, reason, limit_per_minute)
     VALUES (?, ?, ?, ?, ?, ?)`,
    [
      event.keyId,
      toDatabaseTime(event.at),
      event.actorId,
      event.action,
      event.reason ?? null,
      event.limit ?? null,
    ],
  );
}

/** What was done to a key, oldest first. */
export async function eventsOf(reader: Reader, keyId: number): Promise<KeyEvent[]> {
  const rows = await reader.rows(
    `SELECT id, key_id, at, actor_id, action, reason, limit_per_minute
     FROM key_events WHERE key_id = ? ORDER BY id`,
    [keyId],
  );
  return rows.map(([id, key, at, actor, action, reason, limit]) => ({
    id: Number(id),
    key_id: Number(key),
    at: String(at),
    actor_id: toNumber(actor),
    // recordEvent writes no other actions, and nobody can change a row.
    action: action as EventAction,
    reason: toText(reason),
    limit_per_minute: toNumber(limit),
  }));
}
