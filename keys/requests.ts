/**
 * The life of an API key, as moves on a row of `api_keys`:
 *
 *   pending ──approve──► approved ──revoke──► revoked
 *      └─────reject────► rejected
 *
 * A move is one UPDATE that names the state it starts from, so of two at once the first stands and
 * the second is refused. The hash of a key is all that is ever stored of it.
 */
import type { Database } from '../database/database.ts';
import { hashKey, makeKey, SHOWN_CHARACTERS } from '../format/api-key.ts';
import { LARGEST_LIMIT } from '../format/keys-file.ts';

export const KEY_STATES = ['pending', 'approved', 'rejected', 'revoked'] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** A row of `api_keys`, without the hash. Times are "YYYY-MM-DD HH:MM:SS" in UTC. */
export interface KeyRow {
  readonly id: number;
  readonly state: KeyState;
  readonly limit_per_minute: number;
  /** The first characters of the key; null until its owner has revealed it. */
  readonly key_prefix: string | null;
  /** null: issued by an operator from the command line. */
  readonly account_id: number | null;
  readonly purpose: string;
  readonly website_url: string;
  /** Why it was rejected or revoked. */
  readonly reason: string | null;
  readonly requested_at: string;
  readonly reviewed_at: string | null;
  readonly reviewed_by: number | null;
  readonly revealed_at: string | null;
  readonly revoked_at: string | null;
}

const ROW_COLUMNS = [
  'id',
  'state',
  'limit_per_minute',
  'key_prefix',
  'account_id',
  'purpose',
  'website_url',
  'reason',
  'requested_at',
  'reviewed_at',
  'reviewed_by',
  'revealed_at',
  'revoked_at',
] as const satisfies readonly (keyof KeyRow)[];

const LONGEST_TEXT = 5000;

/** A move was refused; the row is as it was. */
export class RefusedMove extends Error {
  override readonly name = 'RefusedMove';
  /** The state that the key is in, or undefined when there is no such key. */
  readonly state: KeyState | undefined;

  constructor(message: string, state: KeyState | undefined) {
    super(message);
    this.state = state;
  }
}

/** Who makes a move and when. */
export interface Review {
  /** The moderator's account; null: an operator at the command line. */
  readonly by: number | null;
  readonly at: Date;
}

/**
 * An approved key for an operator's own use, revealed at once.
 * @returns the raw key, which cannot be had again
 */
export async function issueKey(
  database: Database,
  { limit, purpose, at }: { limit: number; purpose: string; at: Date },
): Promise<{ id: number; key: string }> {
  checkLimit(limit);
  checkText('The note', purpose);
  const key = makeKey();
  const now = toDatabaseTime(at);
  const { insertId } = await database.run(
    `INSERT INTO api_keys (purpose, website_url, state, limit_per_minute, key_hash, key_prefix,
       requested_at, reviewed_at, revealed_at)
     VALUES (?, '', 'approved', ?, ?, ?, ?, ?, ?)`,
    [purpose, limit, hashKey(key), key.slice(0, SHOWN_CHARACTERS), now, now, now],
  );
  return { id: insertId, key };
}

/** Grants a pending request. Its owner reveals the key; until then there is none. */
export async function approveRequest(
  database: Database,
  id: number,
  { limit, by, at }: Review & { limit: number },
): Promise<void> {
  checkLimit(limit);
  await makeMove(database, id, APPROVE, {
    limit_per_minute: limit,
    reviewed_at: toDatabaseTime(at),
    reviewed_by: by,
  });
}

/** Turns a pending request down. @param reason what its owner is told */
export async function rejectRequest(
  database: Database,
  id: number,
  { reason, by, at }: Review & { reason: string },
): Promise<void> {
  checkReason(reason);
  await makeMove(database, id, REJECT, {
    reason,
    reviewed_at: toDatabaseTime(at),
    reviewed_by: by,
  });
}

/** Ends an approved key for good. @param reason what its owner is told */
export async function revokeKey(
  database: Database,
  id: number,
  { reason, at }: { reason: string; at: Date },
): Promise<void> {
  checkReason(reason);
  await makeMove(database, id, REVOKE, { reason, revoked_at: toDatabaseTime(at) });
}

/** Gives an approved key another limit, in requests a minute. */
export async function changeLimit(database: Database, id: number, limit: number): Promise<void> {
  checkLimit(limit);
  await makeMove(database, id, CHANGE_LIMIT, { limit_per_minute: limit });
}

/** Every key and request, or those in one state, oldest first. */
export async function listKeys(database: Database, state?: KeyState): Promise<KeyRow[]> {
  const select = `SELECT ${ROW_COLUMNS.join(', ')} FROM api_keys`;
  const rows =
    state === undefined
      ? await database.rows(`${select} ORDER BY id`)
      : await database.rows(`${select} WHERE state = ? ORDER BY id`, [state]);
  return rows.map(
    (row) => Object.fromEntries(ROW_COLUMNS.map((name, place) => [name, row[place]])) as never,
  );
}

interface Move {
  readonly from: KeyState;
  readonly to: KeyState;
  /** Why a key in another state is left as it is. */
  readonly rule: string;
}

const APPROVE: Move = {
  from: 'pending',
  to: 'approved',
  rule: 'only a pending request can be approved',
};
const REJECT: Move = {
  from: 'pending',
  to: 'rejected',
  rule: 'only a pending request can be rejected',
};
const REVOKE: Move = {
  from: 'approved',
  to: 'revoked',
  rule: 'only an approved key can be revoked',
};
const CHANGE_LIMIT: Move = {
  from: 'approved',
  to: 'approved',
  rule: 'only an approved key can get another limit',
};

async function makeMove(
  database: Database,
  id: number,
  { from, to, rule }: Move,
  changes: Readonly<Record<string, string | number | null>>,
): Promise<void> {
  const columns = Object.keys(changes).map((column) => `, ${column} = ?`);
  const { changes: moved } = await database.run(
    `UPDATE api_keys SET state = ?${columns.join('')} WHERE id = ? AND state = ?`,
    [to, ...Object.values(changes), id, from],
  );
  if (moved === 1) return;
  const [row] = await database.rows('SELECT state FROM api_keys WHERE id = ?', [id]);
  if (row === undefined) throw new RefusedMove(`There is no key ${id}.`, undefined);
  const [state] = row as [KeyState];
  throw new RefusedMove(`Key ${id} is ${state}: ${rule}.`, state);
}

function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LARGEST_LIMIT) return;
  throw new Error(`The limit must be a whole number from 1 to ${LARGEST_LIMIT}, not ${limit}.`);
}

function checkReason(reason: string): void {
  if (reason.trim() === '') throw new Error('The reason must not be empty: the owner is told it.');
  checkText('The reason', reason);
}

function checkText(name: string, text: string): void {
  if (text.length <= LONGEST_TEXT) return;
  throw new Error(`${name} has ${text.length} characters; at most ${LONGEST_TEXT} are allowed.`);
}

function toDatabaseTime(time: Date): string {
  return time.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replace('T', ' ');
}
