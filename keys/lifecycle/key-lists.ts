/** Reads keys and requests, to show them to operators, owners and moderators. */
import type { Database, Reader, Value } from '../../lib/database/database.ts';
import type { KeyState } from '../../lib/format/api-key.ts';
import { hasAccounts } from '../tables/accounts.ts';
import { type AccountId, toDatabaseTime, toObject } from '../tables/values.ts';

/** A row of `api_keys`, without the hash. Times are "YYYY-MM-DD HH:MM:SS" in UTC. */
export interface KeyRow {
  readonly id: number;
  readonly state: KeyState;
  readonly limit_per_minute: number;
  /** The first characters of the key; null until its owner has revealed it. */
  readonly key_prefix: string | null;
  /** Null if an operator issued the key at the command line. */
  readonly account_id: AccountId | null;
  readonly purpose: string;
  readonly website_url: string;
  /** Why a moderator or operator rejected or revoked the key; otherwise null. */
  readonly reason: string | null;
  readonly requested_at: string;
  readonly reviewed_at: string | null;
  /** The moderator's account; null if an operator decided, or nobody has yet. */
  readonly reviewed_by: AccountId | null;
  /** When the key was revealed or last rotated. */
  readonly revealed_at: string | null;
  readonly revoked_at: string | null;
  /** "YYYY-MM-DD" in UTC; null if no use is known. */
  readonly last_used_on: string | null;
  /** What the owner calls the key; null if it has no name. */
  readonly name: string | null;
}

/** A key with its account. Both values are null if the key has no account or the account is removed. */
export interface KeyWithAccount extends KeyRow {
  readonly account_name: string | null;
  readonly account_email: string | null;
}

/** A key with the old key of a rotation. Both values are null if none still works. */
export interface KeyWithOld extends KeyRow {
  readonly old_key_prefix: string | null;
  readonly old_key_ends_at: string | null;
}

const COLUMNS = `id, state, limit_per_minute, key_prefix, account_id, purpose, website_url, reason,
  requested_at, reviewed_at, reviewed_by, revealed_at, revoked_at, last_used_on, name`;
const KEY_COLUMNS = COLUMNS.replace(/\w+/g, 'k.$&');

/** Restricts a list of keys. */
export interface Filter {
  readonly state?: KeyState | undefined;
  /** A text to find in name, purpose, website, prefix, or the name or e-mail address of the account. */
  readonly text?: string | undefined;
}

/** A part of a list. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
}

/** The keys and requests that match a filter, or all, oldest first. */
export async function listKeys(
  database: Database,
  filter: Filter = {},
  now = new Date(),
): Promise<KeyWithOld[]> {
  const hasTable = await hasAccounts(database);
  const { where, values } = conditionOf(filter, hasTable);
  const join = hasTable ? 'LEFT JOIN accounts a ON a.id = k.account_id' : '';
  const rows = await database.rows(
    `SELECT ${KEY_COLUMNS}, o.key_prefix, o.ends_at FROM api_keys k ${join}
     LEFT JOIN old_keys o ON o.key_id = k.id AND o.ends_at > ? AND k.state = 'approved'
     WHERE ${where} ORDER BY k.id`,
    [toDatabaseTime(now), ...values],
  );
  const columns = `${COLUMNS}, old_key_prefix, old_key_ends_at`;
  return rows.map((row) => toObject<KeyWithOld>(columns, row));
}

/** Keys and requests of one account: first those that are in use or pending, each newest first. */
export async function listKeysOf(
  reader: Reader,
  accountId: AccountId,
  slice: Slice,
): Promise<KeyRow[]> {
  const order = (of: string) => `${of}.state NOT IN ('pending', 'approved'), ${of}.id DESC`;
  // Only ids are sorted, from the index: an account may have any number of requests with long purposes.
  const rows = await reader.rows(
    `SELECT ${KEY_COLUMNS} FROM (
       SELECT o.id FROM api_keys o WHERE o.account_id = ? ORDER BY ${order('o')} ${limitTo(slice)}
     ) page JOIN api_keys k ON k.id = page.id ORDER BY ${order('k')}`,
    [accountId],
  );
  return rows.map((row) => toObject<KeyRow>(COLUMNS, row));
}

/** Requests under review, oldest first. */
export function pendingRequests(reader: Reader, slice: Slice): Promise<KeyWithAccount[]> {
  return selectWithAccounts(reader, `k.state = 'pending' ORDER BY k.id ${limitTo(slice)}`);
}

/** Keys and requests that match a filter, newest first. */
export function listKeysWithAccounts(
  reader: Reader,
  filter: Filter,
  slice: Slice,
): Promise<KeyWithAccount[]> {
  const { where, values } = conditionOf(filter, true);
  return selectWithAccounts(reader, `${where} ORDER BY k.id DESC ${limitTo(slice)}`, values);
}

/** @returns undefined if there is no such key */
export async function findKey(reader: Reader, id: number): Promise<KeyRow | undefined> {
  const sql = `SELECT ${KEY_COLUMNS} FROM api_keys k WHERE k.id = ?`;
  const [row] = await reader.rows(sql, [id]);
  return row && toObject<KeyRow>(COLUMNS, row);
}

/** @returns undefined if there is no such key */
export async function findKeyWithAccount(
  reader: Reader,
  id: number,
): Promise<KeyWithAccount | undefined> {
  return (await selectWithAccounts(reader, 'k.id = ?', [id]))[0];
}

/** @param rest an SQL condition on the key `k` and its account `a`, and what follows it */
async function selectWithAccounts(
  reader: Reader,
  rest: string,
  values: readonly Value[] = [],
): Promise<KeyWithAccount[]> {
  const rows = await reader.rows(
    `SELECT ${KEY_COLUMNS}, a.name, a.email
     FROM api_keys k LEFT JOIN accounts a ON a.id = k.account_id WHERE ${rest}`,
    values,
  );
  const columns = `${COLUMNS}, account_name, account_email`;
  return rows.map((row) => toObject<KeyWithAccount>(columns, row));
}

function limitTo({ limit, offset }: Slice): string {
  return `LIMIT ${Math.trunc(limit)} OFFSET ${Math.trunc(offset)}`;
}

function conditionOf(
  { state, text = '' }: Filter,
  isJoined: boolean,
): { where: string; values: Value[] } {
  const conditions = ['1 = 1'];
  const values: Value[] = [];
  if (state !== undefined) {
    conditions.push('k.state = ?');
    values.push(state);
  }
  if (text !== '') {
    const searched = ['k.name', 'k.purpose', 'k.website_url', 'k.key_prefix'];
    if (isJoined) searched.push('a.name', 'a.email');
    conditions.push(
      `(${searched.map((column) => `INSTR(LOWER(${column}), LOWER(?)) > 0`).join(' OR ')})`,
    );
    values.push(...searched.map(() => text));
  }
  return { where: conditions.join(' AND '), values };
}
