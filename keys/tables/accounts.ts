/**
 * Reads accounts from `accounts`, which is a view of the site's accounts or a table of this project. If
 * the database has no `accounts`, keys can be managed only at the command line.
 */
import type { Database, Reader, Row } from '../../database/database.ts';
import { columnNames } from '../../database/tables.ts';
import { ACCOUNTS_TABLE } from './schema.ts';

export interface Account {
  readonly id: number;
  readonly email: string;
  readonly name: string;
  readonly role: 'user' | 'moderator';
}

const SELECT = 'SELECT id, email, name, role FROM accounts';

/** Whether the database has a table or view `accounts` with all columns. */
export async function hasAccounts(database: Database): Promise<boolean> {
  const columns = (await database.columns()).get('accounts');
  return columnNames(ACCOUNTS_TABLE.accounts).every((name) => columns?.has(name));
}

/** The names of all views, in lower case. A view of the site's accounts cannot be written to. */
export async function viewsOf(database: Reader & Pick<Database, 'kind'>): Promise<Set<string>> {
  const rows = await database.rows(
    database.kind === 'sqlite'
      ? "SELECT name FROM sqlite_schema WHERE type = 'view'"
      : "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'VIEW'",
  );
  return new Set(rows.map(([name]) => String(name).toLowerCase()));
}

/** All accounts, sorted by id. */
export async function listAccounts(database: Database): Promise<Account[]> {
  if (!(await hasAccounts(database))) return [];
  return (await database.rows(`${SELECT} ORDER BY id`)).map(toAccount);
}

/** @returns undefined if there is no such account */
export async function findAccount(reader: Reader, id: number): Promise<Account | undefined> {
  const [row] = await reader.rows(`${SELECT} WHERE id = ?`, [id]);
  return row && toAccount(row);
}

/**
 * Finds the account with an e-mail address. If the address of one account matches exactly, it is this
 * account; otherwise case is ignored.
 * @returns undefined if no account matches, or more than one
 */
export async function findAccountByEmail(
  reader: Reader,
  email: string,
): Promise<Account | undefined> {
  const rows = await reader.rows(`${SELECT} WHERE LOWER(email) = LOWER(?) ORDER BY id LIMIT 10`, [
    email,
  ]);
  const accounts = rows.map(toAccount);
  const exact = accounts.filter((account) => account.email === email);
  const candidates = exact.length > 0 ? exact : accounts;
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
