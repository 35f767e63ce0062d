/** Keys and requests as they are shown: to operators, to their owners, to moderators. */
import type { Database, Reader, Value } from '../../database/database.ts';
import { hasAccounts } from '../tables/accounts.ts';
import type { KeyState } from './requests.ts';

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
  /** Why it was rejected or revoked; null too where its owner revoked it. */
  readonly reason: string | null;
  readonly requested_at: string;
  readonly reviewed_at: string | null;
  /** The moderator's account; null too where an operator decided. */
  readonly reviewed_by: number | null;
  /** When the key in use was shown. */
  readonly revealed_at: string | null;
  readonly revoked_at: string | null;
  /** "YYYY-MM-DD" in UTC; null: not known. */
  readonly last_used_on: string | null;
}

/** A key and whose it is; null where it is nobody's, or the account is gone. */
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
] as const satisfies readonly (keyof KeyRow)[];
const ACCOUNT_COLUMNS = ['name', 'email'];

/** What a list is narrowed to. */
export interface Filter {
  readonly state?: KeyState | undefined;
  /** What stands in the purpose, address, prefix, or the name or e-mail address of the account. */
  readonly text?: string | undefined;
}

/** Every key and request, or those that a filter leaves, oldest first. */
export async function listKeys(database: Database, filter: Filter = {}): Promise<KeyRow[]> {
  const { where, values } = conditionOf(filter, await hasAccounts(database));
  return select(database, { where, values, isJoined: where.includes('a.'), order: 'k.id' });
}

/** The keys and requests of one account, oldest first. */
export async function listKeysOf(reader: Reader, accountId: number): Promise<KeyRow[]> {
  return select(reader, { where: 'k.account_id = ?', values: [accountId], order: 'k.id' });
}

/** The queue of moderators, oldest first. */
export async function pendingRequests(database: Database): Promise<KeyWithAccount[]> {
  return withAccounts(database, { where: "k.state = 'pending'", values: [], order: 'k.id' });
}

/** One page of the keys and requests that a filter leaves, newest first. */
export async function listKeysWithAccounts(
  database: Database,
  { limit, offset, ...filter }: Filter & { readonly limit: number; readonly offset: number },
): Promise<KeyWithAccount[]> {
  return withAccounts(database, {
    ...conditionOf(filter, true),
    order: `k.id DESC LIMIT ${Math.trunc(limit)} OFFSET ${Math.trunc(offset)}`,
  });
}

/** @returns undefined when there is no such key */
export async function findKey(reader: Reader, id: number): Promise<KeyRow | undefined> {
  const [key] = await select(reader, { where: 'k.id = ?', values: [id], order: 'k.id' });
  return key;
}

/** @returns undefined when there is no such key */
export async function findKeyWithAccount(
  database: Database,
  id: number,
): Promise<KeyWithAccount | undefined> {
  const [key] = await withAccounts(database, { where: 'k.id = ?', values: [id], order: 'k.id' });
  return key;
}

interface Selection {
  /** SQL over the key `k` and, where it is joined, its account `a`. */
  readonly where: string;
  readonly values: readonly Value[];
  readonly order: string;
  readonly isJoined?: boolean;
}

async function withAccounts(reader: Reader, selection: Selection): Promise<KeyWithAccount[]> {
  return (await select(reader, { ...selection, isJoined: true })) as KeyWithAccount[];
}

async function select(
  reader: Reader,
  { where, values, order, isJoined = false }: Selection,
): Promise<KeyRow[]> {
  const columns = [
    ...COLUMNS.map((name) => [name, `k.${name}`]),
    ...(isJoined ? ACCOUNT_COLUMNS.map((name) => [`account_${name}`, `a.${name}`]) : []),
  ];
  const rows = await reader.rows(
    `SELECT ${columns.map(([, sql]) => sql).join(', ')} FROM api_keys k
     ${isJoined ? 'LEFT JOIN accounts a ON a.id = k.account_id' : ''}
     WHERE ${where} ORDER BY ${order}`,
    values,
  );
  return rows.map(
    (row) => Object.fromEntries(columns.map(([name], place) => [name, row[place]])) as never,
  );
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
    const searched = ['k.purpose', 'k.website_url', 'k.key_prefix'];
    if (isJoined) searched.push('a.name', 'a.email');
    conditions.push(
      `(${searched.map((column) => `INSTR(LOWER(${column}), LOWER(?)) > 0`).join(' OR ')})`,
    );
    values.push(...searched.map(() => text));
  }
  return { where: conditions.join(' AND '), values };
}
