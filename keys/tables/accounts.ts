/**
 * Reads accounts: from a view of the site's, or from a table of our own. A database without
 * `accounts` has none; then only the command line is used.
 */
import type { Database, Reader, Row } from '../../database/database.ts';
import { columnNames } from '../../database/tables.ts';
import { ACCOUNTS_TABLE } from '../tables/schema.ts';

export interface Account {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  readonly role: 'user' | 'moderator';
}

const SELECT = 'SELECT id, email, name, role FROM accounts';

/** Whether the database has accounts at all. */
export async function hasAccounts(database: Database): Promise<boolean> {
  const columns = (await database.columns()).get('accounts');
  return columnNames(ACCOUNTS_TABLE.accounts).every((name) => columns?.has(name));
}

/** Every account, in the order of their ids. */
export async function listAccounts(database: Database): Promise<Account[]> {
  if (!(await hasAccounts(database))) return [];
  return (await database.rows(`${SELECT} ORDER BY id`)).map(toAccount);
}

/** @returns undefined when there is no such account */
export async function findAccount(reader: Reader, id: number): Promise<Account | undefined> {
  const [row] = await reader.rows(`${SELECT} WHERE id = ?`, [id]);
  return row && toAccount(row);
}

/**
 * The account of an address. Case does not matter, unless several addresses differ in case only: then
 * the address must match exactly.
 * @returns undefined when no account matches, or more than one
 */
export async function findAccountByEmail(
  reader: Reader,
  email: string,
): Promise<Account | undefined> {
  const rows = await reader.rows(`${SELECT} WHERE LOWER(email) = LOWER(?) ORDER BY id LIMIT 10`, [
    email,
  ]);
  const accounts = rows.map(toAccount);
  const same = accounts.filter((account) => account.email === email);
  const candidates = same.length > 0 ? same : accounts;
  return candidates.length === 1 ? candidates[0] : undefined;
}

function toAccount([id, email, name, role]: Row): Account {
  return {
    id: Number(id),
    email: String(email),
    name: String(name),
    role: role === 'moderator' ? 'moderator' : 'user',
  };
}
