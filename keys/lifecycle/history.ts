/**
 * The history of keys: who did what to which key, when and why. An event is written in the same
 * transaction as the change that it records. Rows are never changed or removed. How many changes an
 * account has made is counted here, so a restart or a second program does not start from zero.
 */
import type { Reader, Writer } from '../../lib/database/database.ts';
import {
  type AccountId,
  addSeconds,
  fromDatabaseTime,
  latestTime,
  marks,
  toDatabaseTime,
  toObject,
} from '../tables/values.ts';
import { Refusal } from './refusal.ts';

export type EventAction =
  | 'requested'
  | 'withdrawn'
  | 'renamed'
  | 'issued'
  | 'approved'
  | 'rejected'
  | 'revealed'
  | 'rotated'
  | 'old_key_ended'
  | 'revoked'
  | 'limit_changed';

export interface KeyEvent {
  readonly id: number;
  readonly key_id: number;
  /** "YYYY-MM-DD HH:MM:SS" in UTC. */
  readonly at: string;
  /** The account of the user who acted; null for an operator at the command line. */
  readonly actor_id: AccountId | null;
  /** Null if an operator acted, or the account was removed. */
  readonly actor_name: string | null;
  readonly action: EventAction;
  /**
   * Why a moderator or operator rejected or revoked the key, its new name, or the request that raised its
   * limit; otherwise null.
   */
  readonly reason: string | null;
  /** The limit that the key got or that its owner asked for, in requests per minute; otherwise null. */
  readonly limit_per_minute: number | null;
}

const COLUMNS = 'id, key_id, at, actor_id, actor_name, action, reason, limit_per_minute';

/** Of an account, on its own keys and requests: what moderators decide does not count. */
const CHANGES = { most: 20, seconds: 3600 };

/** Records an event. Call it in the transaction of the change. */
export async function recordEvent(
  writer: Writer,
  event: {
    readonly keyId: number;
    readonly at: Date;
    readonly actorId: AccountId | null;
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

/** The last events of a key, at most `most`, oldest first. The database must have accounts. */
export async function eventsOf(
  reader: Reader,
  keyId: number,
  most = Number.MAX_SAFE_INTEGER,
): Promise<KeyEvent[]> {
  return (await eventsOfEach(reader, [keyId], most)).get(keyId) ?? [];
}

/** As {@link eventsOf}, of each of some keys. @returns by the id of the key */
export async function eventsOfEach(
  reader: Reader,
  keyIds: readonly number[],
  most: number,
): Promise<Map<number, KeyEvent[]>> {
  if (keyIds.length === 0) return new Map();
  const rows = await reader.rows(
    `SELECT e.id, e.key_id, e.at, e.actor_id, a.name, e.action, e.reason, e.limit_per_minute
     FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY key_id ORDER BY id DESC) AS age
           FROM key_events WHERE key_id IN (${marks(keyIds)})) numbered
     JOIN key_events e ON e.id = numbered.id LEFT JOIN accounts a ON a.id = e.actor_id
     WHERE numbered.age <= ${most} ORDER BY e.id`,
    keyIds,
  );
  const events = rows.map((row) => toObject<KeyEvent>(COLUMNS, row));
  return Map.groupBy(events, ({ key_id }) => key_id);
}

/**
 * @throws Refusal if the account has made {@link CHANGES} already. To count exactly, call it under the
 * lock of the account
 */
export async function refuseManyChanges(
  reader: Reader,
  accountId: AccountId,
  at: Date,
): Promise<void> {
  const { most, seconds } = CHANGES;
  const [row] = await reader.rows(
    `SELECT e.at FROM key_events e JOIN api_keys k ON k.id = e.key_id
     WHERE e.actor_id = ? AND e.at > ? AND e.at <= ? AND k.account_id = e.actor_id
     ORDER BY e.at DESC LIMIT 1 OFFSET ${most - 1}`,
    [accountId, toDatabaseTime(addSeconds(at, -seconds)), latestTime(at)],
  );
  if (row === undefined) return;
  const end = addSeconds(fromDatabaseTime(String(row[0])), seconds);
  const left = Math.max(1, Math.ceil((end.getTime() - at.getTime()) / 1000));
  const minutes = Math.ceil(left / 60);
  throw new Refusal(
    `You have made ${most} changes in an hour. The next one is possible in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`,
    'limited',
    left,
  );
}
