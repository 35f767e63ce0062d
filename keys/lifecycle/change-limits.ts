/**
 * How many changes an account may make, and how often a key may be rotated. Both are counted in the
 * history of keys, so a restart or a second program does not start from zero.
 */
import type { Reader } from '../../database/database.ts';
import { shownTime } from '../../pages/shown-values.ts';
import { addSeconds, fromDatabaseTime, toDatabaseTime } from '../tables/database-time.ts';
import { Refusal } from './refusal.ts';

const MINUTE_MS = 60_000;
/** Of an account, on its own keys and requests: what moderators decide does not count. */
export const CHANGES = { most: 20, seconds: 3600 };
/** Of a key, by its owner or an operator. */
export const ROTATIONS = { most: 5, seconds: 24 * 3600 };

/**
 * @throws Refusal if the account has made {@link CHANGES} already. To count exactly, call it under the
 * lock of the account
 */
export async function refuseManyChanges(
  reader: Reader,
  accountId: number,
  at: Date,
): Promise<void> {
  const { most, seconds } = CHANGES;
  const [row] = await reader.rows(
    `SELECT e.at FROM key_events e JOIN api_keys k ON k.id = e.key_id
     WHERE e.actor_id = ? AND e.at > ? AND k.account_id = e.actor_id
     ORDER BY e.at DESC LIMIT 1 OFFSET ${most - 1}`,
    [accountId, toDatabaseTime(addSeconds(at, -seconds))],
  );
  if (row === undefined) return;
  throw limited(`You have made ${most} changes in an hour.`, String(row[0]), seconds, at);
}

/**
 * @throws Refusal if the key was rotated {@link ROTATIONS} times already. To count exactly, call it in the
 * transaction that has changed the row of the key
 */
export async function refuseManyRotations(reader: Reader, keyId: number, at: Date): Promise<void> {
  const { most, seconds } = ROTATIONS;
  const [row] = await reader.rows(
    `SELECT at FROM key_events WHERE key_id = ? AND at > ? AND action = 'rotated'
     ORDER BY at DESC LIMIT 1 OFFSET ${most - 1}`,
    [keyId, toDatabaseTime(addSeconds(at, -seconds))],
  );
  if (row === undefined) return;
  throw limited(`Key ${keyId} was rotated ${most} times in a day.`, String(row[0]), seconds, at);
}

/** @param oldest the time of the change that must leave the window first */
function limited(what: string, oldest: string, seconds: number, at: Date): Refusal {
  const end = addSeconds(fromDatabaseTime(oldest), seconds);
  // People read minutes, and must not come back too early.
  const shown = new Date(Math.ceil(end.getTime() / MINUTE_MS) * MINUTE_MS);
  return new Refusal(
    `${what} The next one is possible on ${shownTime(shown)}.`,
    'limited',
    Math.max(1, Math.ceil((end.getTime() - at.getTime()) / 1000)),
  );
}
