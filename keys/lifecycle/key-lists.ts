/** Reads keys and requests, to show them to operators, owners and moderators. */
import type { Database, Reader, Row, Value } from '../../database/database.ts';
import type { KeyState } from '../../format/api-key.ts';
import { hasAccounts } from '../tables/accounts.ts';
import { toNumber, toText } from '../tables/values.ts';

/** A row of `api_keys`, without the hash. Times are "YYYY-MM-DD HH:MM:SS" in UTC. */
export interface KeyRow {
  readonly id: number;
  readonly state: KeyState;
  readonly limit_per_minute: number;
  /** The first characters of the key; null until its owner has revealed it. */
  readonly key_prefix: string | null;
  /** Null if an operator issued the key at the command line. */
  readonly account_id: number | null;
  readonly purpose: string;
  readonly website_url: string;
  /** Why a moderator or operator rejected or revoked the key; otherwise null. */
  readonly reason: string | null;
  readonly requested_at: string;
  readonly reviewed_at: string | null;
  /** The moderator's account; null if an operator decided, or nobody has yet. */
  readonly reviewed_by: number | null;
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

const COLUMNS = [
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
  'last_used_on',
  'name',
] as const satisfies readonly (keyof KeyRow)[];

/** Restricts a list of keys. */
export interface Filter {
  readonly state?: KeyState | undefined;
  /** A text to find in name, purpose, website, prefix, or the name or e-mail address of the account. */
  readonly text?: string | undefined;
}

/** The keys and requests that match a filter, or all, oldest first. */
export async function listKeys(database: Database, filter: Filter = {}): Promise<KeyRow[]> {
  const { where, values } = conditionOf(filter, await hasAccounts(database));
  const isJoined = where.includes('a.');
  return (await select(database, { where, values, isJoined, order: 'k.id' })).map(toKey);
}

/** The states of requests and keys about which something can still be done. */
const OPEN = "('pending', 'approved')";

/** A part of a list. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
}

/**
 * Keys and requests of one account: first those that are in use or pending, each newest first. An account
 * has few of these, but may have any number of others, which are therefore never sorted as a whole.
 */
export async function listKeysOf(
  reader: Reader,
  accountId: number,
  { limit, offset }: Slice,
): Promise<KeyRow[]> {
  const values = [accountId];
  const open = `FROM api_keys WHERE account_id = ? AND state IN ${OPEN}`;
  const [count] = await reader.rows(`SELECT COUNT(*) ${open}`, values);
  const keys: Row[] = [];
  if (offset < Number(count?.[0])) {
    // SQLite would otherwise read all rows of the account, since they are in the right order.
    const where = `k.id IN (SELECT id ${open})`;
    const order = within('k.id DESC', { limit, offset });
    keys.push(...(await select(reader, { where, values, order })));
  }
  const rest = {
    limit: limit - keys.length,
    offset: Math.max(0, offset - Number(count?.[0])),
  };
  const where = `k.account_id = ? AND k.state NOT IN ${OPEN}`;
  keys.push(...(await select(reader, { where, values, order: within('k.id DESC', rest) })));
  return keys.map(toKey);
}

/** Requests under review, oldest first. */
export async function pendingRequests(database: Database, slice: Slice): Promise<KeyWithAccount[]> {
  const order = within('k.id', slice);
  return withAccounts(database, { where: "k.state = 'pending'", values: [], order });
}

/** Keys and requests that match a filter, newest first. */
export async function listKeysWithAccounts(
  database: Database,
  filter: Filter,
  slice: Slice,
): Promise<KeyWithAccount[]> {
  return withAccounts(database, {
    ...conditionOf(filter, true),
    order: within('k.id DESC', slice),
  });
}

/** @returns undefined if there is no such key */
export async function findKey(reader: Reader, id: number): Promise<KeyRow | undefined> {
  const [row] = await select(reader, { where: 'k.id = ?', values: [id], order: 'k.id' });
  return row && toKey(row);
}

/** @returns undefined if there is no such key */
export async function findKeyWithAccount(
  database: Database,
  id: number,
): Promise<KeyWithAccount | undefined> {
  const [key] = await withAccounts(database, { where: 'k.id = ?', values: [id], order: 'k.id' });
  return key;
}

function within(order: string, { limit, offset }: Slice): string {
  return `${order} LIMIT ${Math.trunc(limit)} OFFSET ${Math.trunc(offset)}`;
}

interface Selection {
  /** An SQL condition on the key `k` and, if `isJoined`, its account `a`. */
  readonly where: string;
  readonly values: readonly Value[];
  readonly order: string;
  readonly isJoined?: boolean;
}

async function withAccounts(reader: Reader, selection: Selection): Promise<KeyWithAccount[]> {
  const rows = await select(reader, { ...selection, isJoined: true });
  return rows.map((row) => {
    const [name, email] = row.slice(COLUMNS.length);
    return { ...toKey(row), account_name: toText(name), account_email: toText(email) };
  });
}

/** @returns the columns of each key and, if `isJoined`, the name and e-mail address of its account */
async function select(
  reader: Reader,
  { where, values, order, isJoined = false }: Selection,
): Promise<Row[]> {
  const columns = COLUMNS.map((name) => `k.${name}`);
  if (isJoined) columns.push('a.name', 'a.email');
  return reader.rows(
    `SELECT ${columns.join(', ')} FROM api_keys k
     ${isJoined ? 'LEFT JOIN accounts a ON a.id = k.account_id' : ''}
     WHERE ${where} ORDER BY ${order}`,
    values,
  );
}

/** @param row the columns of {@link COLUMNS}, in their order */
function toKey(row: Row): KeyRow {
  const [id, state, limit, prefix, account, purpose, website, reason, ...dates] = row;
  const [requestedAt, reviewedAt, reviewedBy, revealedAt, revokedAt, lastUsedOn, name] = dates;
  return {
    id: Number(id),
    // No transition writes another state.
    state: state as KeyState,
    limit_per_minute: Number(limit),
    key_prefix: toText(prefix),
    account_id: toNumber(account),
    purpose: String(purpose),
    website_url: String(website),
    reason: toText(reason),
    requested_at: String(requestedAt),
    reviewed_at: toText(reviewedAt),
    reviewed_by: toNumber(reviewedBy),
    revealed_at: toText(revealedAt),
    revoked_at: toText(revokedAt),
    last_used_on: toText(lastUsedOn),
    name: toText(name),
  };
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
