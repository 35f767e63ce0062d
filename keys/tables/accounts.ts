/**
 * Accounts, and the lock of each. `accounts` is a view of the site's accounts or a table of this project.
 * If the database has no `accounts`, keys can be managed only at the command line.
 */
import type { Database, Reader, Row, Writer } from '../../lib/database/database.ts';
import { columnNames } from '../../lib/database/tables.ts';
import { ACCOUNTS_TABLE } from './schema.ts';
import { type AccountId, toAccountId } from './values.ts';

export interface Account {
  readonly id: AccountId;
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
export async function findAccount(reader: Reader, id: AccountId): Promise<Account | undefined> {
  const rows = await reader.rows(`${SELECT} WHERE id = ?`, [id]);
  // A server may compare an expression of a view with a string as floating-point numbers.
  return rows.map(toAccount).find((account) => account.id === id);
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
    id: toAccountId(id),
    email: String(email),
    name: String(name),
    role: role === 'moderator' ? 'moderator' : 'user',
  };
}

/**
 * Does `work` in a transaction that holds the account lock, a row of `request_turns`. Others wait
 * for the lock, so the transaction can count the requests or links of the account and add one without
 * exceeding a limit.
 */
export async function withAccountLock<T>(
  database: Database,
  accountId: AccountId,
  work: (writer: Writer) => Promise<T>,
): Promise<T> {
  const hasLock = async () => {
    const sql = 'SELECT 1 FROM request_turns WHERE account_id = ?';
    return (await database.rows(sql, [accountId])).length > 0;
  };
  if (!(await hasLock())) {
    const sql = 'INSERT INTO request_turns (account_id, turns) VALUES (?, 0)';
    await database.run(sql, [accountId]).catch(async (error) => {
      // Another request of the account may have created the row in the meantime.
      if (!(await hasLock())) throw error;
    });
  }
  return database.transaction(async (writer) => {
    await lockAccount(writer, accountId);
    return work(writer);
  });
}

/** Takes the account's lock until the transaction ends. Call it at the start of the transaction. */
export async function lockAccount(writer: Writer, accountId: AccountId): Promise<void> {
  await writer.run('UPDATE request_turns SET turns = turns + 1 WHERE account_id = ?', [accountId]);
}
