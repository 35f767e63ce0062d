/**
 * The history of keys: who did what to which key, when and why. An event is written in the same
 * transaction as the change that it records. Rows are never changed or removed.
 */
import type { Reader, Writer } from '../../database/database.ts';
import { toDatabaseTime } from '../tables/database-time.ts';
import { toNumber, toText } from '../tables/values.ts';

export const EVENT_ACTIONS = [
  'requested',
  'withdrawn',
  'renamed',
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
  /** The account of the user who acted; null for an operator at the command line. */
  readonly actor_id: number | null;
  readonly action: EventAction;
  /**
   * Why a moderator or operator rejected or revoked the key, or its new name; otherwise null.
   */
  readonly reason: string | null;
  /** The limit that the key got, in requests per minute; null if the action sets none. */
  readonly limit_per_minute: number | null;
}

/** Records an event. Call it in the transaction of the change. */
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

/**
 * The events of a key, oldest first.
 * @param most how many of the last ones; by default all
 */
export async function eventsOf(reader: Reader, keyId: number, most?: number): Promise<KeyEvent[]> {
  const rows = await reader.rows(
    `SELECT id, key_id, at, actor_id, action, reason, limit_per_minute
     FROM key_events WHERE key_id = ? ORDER BY id DESC${most === undefined ? '' : ` LIMIT ${most}`}`,
    [keyId],
  );
  return rows.toReversed().map(([id, key, at, actor, action, reason, limit]) => ({
    id: Number(id),
    key_id: Number(key),
    at: String(at),
    actor_id: toNumber(actor),
    // `recordEvent` writes no other actions, and triggers keep everybody from changing a row.
    action: action as EventAction,
    reason: toText(reason),
    limit_per_minute: toNumber(limit),
  }));
}
