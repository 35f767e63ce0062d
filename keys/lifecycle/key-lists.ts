/** Reads keys and requests, to show them to operators, owners and moderators. */
import type { Database, Reader, Value } from '../../lib/database/database.ts';
import type { KeyState } from '../../lib/format/api-key.ts';
import { hasAccounts } from '../tables/accounts.ts';
import { type AccountId, endsOfOldKeys, latestTime, toObject } from '../tables/values.ts';

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
  /** To the minute; null if no use is known, or a clock was wrong. */
  readonly last_used_at: string | null;
  /** What the owner calls the key; null if it has no name. */
  readonly name: string | null;
  /**
   * The id of the key for which the request asks a higher limit, which is in `limit_per_minute`; null if it
   * asks for a key.
   */
  readonly limit_of: number | null;
  /** Of the key that a rotation has replaced. Both values are null if none still works. */
  readonly old_key_prefix: string | null;
  readonly old_key_ends_at: string | null;
  /** The present limit of the key for which the request asks a higher one; null if it asks for a key. */
  readonly present_limit: number | null;
}

/** A key with its account. Both values are null if the key has no account or the account is removed. */
export interface KeyWithAccount extends KeyRow {
  readonly account_name: string | null;
  readonly account_email: string | null;
}

const OWN_COLUMNS = `id, state, limit_per_minute, key_prefix, account_id, purpose, website_url, reason,
  requested_at, reviewed_at, reviewed_by, revealed_at, revoked_at, last_used_at, name, limit_of`;
const COLUMNS = `${OWN_COLUMNS}, old_key_prefix, old_key_ends_at, present_limit`;

/** Restricts a list of keys. */
interface Filter {
  readonly state?: KeyState | undefined;
  /**
   * A text to find in name, purpose, website, prefix, that of an old key that still works, or the name or
   * e-mail address of the account.
   */
  readonly text?: string | undefined;
}

/** A part of a list. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
}

/** The keys and requests that match a filter, or all, oldest first. */
export async function listKeys(database: Database, filter: Filter = {}): Promise<KeyRow[]> {
  const hasTable = await hasAccounts(database);
  const { where, values } = conditionOf(filter, hasTable);
  const join = hasTable ? ACCOUNTS : '';
  return select<KeyRow>(database, `${join} WHERE ${where} ORDER BY k.id`, values);
}

/** Keys and requests of one account: first those that are in use or pending, each newest first. */
export function listKeysOf(reader: Reader, accountId: AccountId, slice: Slice): Promise<KeyRow[]> {
  const order = (of: string) => `${of}.state NOT IN ('pending', 'approved'), ${of}.id DESC`;
  // Only ids are sorted, from the index: an account may have any number of requests with long purposes.
  const page = `SELECT p.id FROM api_keys p WHERE p.account_id = ? ORDER BY ${order('p')} ${limitTo(slice)}`;
  const rest = `JOIN (${page}) page ON page.id = k.id ORDER BY ${order('k')}`;
  return select<KeyRow>(reader, rest, [accountId]);
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
  return (await select<KeyRow>(reader, 'WHERE k.id = ?', [id]))[0];
}

/** @returns undefined if there is no such key */
export async function findKeyWithAccount(
  reader: Reader,
  id: number,
): Promise<KeyWithAccount | undefined> {
  return (await selectWithAccounts(reader, 'k.id = ?', [id]))[0];
}

const ACCOUNTS = 'LEFT JOIN accounts a ON a.id = k.account_id';

/** @param rest an SQL condition on the key `k` and its account `a`, and what follows it */
function selectWithAccounts(
  reader: Reader,
  rest: string,
  values: readonly Value[] = [],
): Promise<KeyWithAccount[]> {
  return select(reader, `${ACCOUNTS} WHERE ${rest}`, values, ', account_name, account_email');
}

/**
 * Reads keys `k`, with their old keys `o` that still work: one works only while its key is approved.
 * @param rest the end of the statement
 * @param more further columns, by the names that they get, such as `account_name` for `a.name`
 */
async function select<T extends KeyRow>(
  reader: Reader,
  rest: string,
  values: readonly Value[],
  more = '',
): Promise<T[]> {
  const now = new Date();
  const own = OWN_COLUMNS.replace(/\w+/g, 'k.$&');
  const rows = await reader.rows(
    `SELECT ${own}, o.key_prefix, o.ends_at, l.limit_per_minute${more.replaceAll('account_', 'a.')} FROM api_keys k
     LEFT JOIN api_keys l ON l.id = k.limit_of
     LEFT JOIN old_keys o ON o.key_id = k.id AND o.ends_at > ? AND o.ends_at <= ? AND k.state = 'approved' ${rest}`,
    [...endsOfOldKeys(now), ...values],
  );
  const latest = latestTime(now);
  return rows.map((row) => {
    const key = toObject<T>(COLUMNS + more, row);
    return (key.last_used_at ?? '') > latest ? { ...key, last_used_at: null } : key;
  });
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
    const searched = ['k.name', 'k.purpose', 'k.website_url', 'k.key_prefix', 'o.key_prefix'];
    if (isJoined) searched.push('a.name', 'a.email');
    conditions.push(
      `(${searched.map((column) => `INSTR(LOWER(${column}), LOWER(?)) > 0`).join(' OR ')})`,
    );
    values.push(...searched.map(() => text));
  }
  return { where: conditions.join(' AND '), values };
}
