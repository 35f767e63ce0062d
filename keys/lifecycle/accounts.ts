/**
 * Adds, changes and removes accounts, for operators of an installation without a site. If `accounts` is a
 * view of the site's accounts, nothing here changes them. Invariant: the id of a removed account is never
 * used again, because a new account with this id would own the keys of the removed one.
 */
import type { Database, Reader } from '../../lib/database/database.ts';
import { checkTables, createTables } from '../../lib/database/tables.ts';
import { isMailAddress } from '../mail/mailer.ts';
import {
  type Account,
  findAccount,
  findAccountByEmail,
  hasAccounts,
  lockAccount,
  viewsOf,
} from '../tables/accounts.ts';
import { ACCOUNTS_TABLE } from '../tables/schema.ts';
import { type AccountId, toAccountId } from '../tables/values.ts';
import { invalid, noSuchAccount, Refusal } from './refusal.ts';

/** How many keys an error names; others are named by the next one. */
const MOST_NAMED = 20;
export const ROLES = ['user', 'moderator'] as const satisfies readonly Account['role'][];

const LONGEST_NAME = 255;
const LONGEST_EMAIL = 320;
const MOST_ATTEMPTS = 20;

/**
 * Adds an account, or changes the name and role of the account with this address. Creates the table of
 * accounts if it does not exist.
 * @param account `role` is undefined for the present role, or "user" for a new account
 * @throws Refusal if the name or the address is not valid
 */
export async function addAccount(
  database: Database,
  account: { email: string; name: string; role: Account['role'] | undefined },
): Promise<{ id: AccountId; role: Account['role']; isNew: boolean }> {
  const { email } = account;
  const name = account.name.trim();
  if (!isMailAddress(email) || email.length > LONGEST_EMAIL) {
    throw invalid(`${JSON.stringify(email)} is not an e-mail address, such as name@example.org.`);
  }
  if (name === '' || name.length > LONGEST_NAME || /\p{C}/u.test(name)) {
    throw invalid(`The name must have 1 to ${LONGEST_NAME} characters, none of them invisible.`);
  }
  await refuseView(database);
  if (!(await hasAccounts(database))) {
    await createTables(database, ACCOUNTS_TABLE);
    await checkTables(database, ACCOUNTS_TABLE);
  }
  for (let attempt = 1; ; attempt++) {
    const id = await unusedId(database);
    // Checked after the id is chosen. If another program adds the address in the meantime, it also
    // takes the id, so the INSERT below fails.
    const existing = await findAccountByEmail(database, email);
    const role = account.role ?? existing?.role ?? 'user';
    if (existing !== undefined) {
      const sql = 'UPDATE accounts SET name = ?, role = ? WHERE id = ?';
      await database.run(sql, [name, role, existing.id]);
      return { id: existing.id, role, isNew: false };
    }
    try {
      const sql = 'INSERT INTO accounts (id, email, name, role) VALUES (?, ?, ?, ?)';
      await database.run(sql, [id, email, name, role]);
      return { id, role, isNew: true };
    } catch (error) {
      const isTaken = (await findAccount(database, id)) !== undefined;
      if (!isTaken || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

/**
 * Removes an account, its sessions and its sign-in links. Its old keys and their history stay.
 * @throws Refusal if the account has requests under review or approved keys, or does not exist
 */
export async function removeAccount(database: Database, id: AccountId): Promise<void> {
  await refuseView(database);
  const hasTable = await hasAccounts(database);
  await database.transaction(async (writer) => {
    if (!hasTable || !(await findAccount(writer, id))) throw noSuchAccount(id);
    await lockAccount(writer, id);
    const open = await writer.rows(
      `SELECT id FROM api_keys WHERE account_id = ? AND state IN ('pending', 'approved')
       ORDER BY id LIMIT ${MOST_NAMED}`,
      [id],
    );
    if (open.length > 0) {
      throw new Refusal(
        `Account ${id} has pending requests or approved keys: ${open.join(', ')}. Reject or revoke them first.`,
        'conflict',
      );
    }
    for (const table of ['sessions', 'sign_in_links']) {
      await writer.run(`DELETE FROM ${table} WHERE account_id = ?`, [id]);
    }
    await writer.run('DELETE FROM accounts WHERE id = ?', [id]);
  });
}

/** @throws Refusal if the accounts are those of the site: a database may let programs write into a view */
async function refuseView(database: Database): Promise<void> {
  if (!(await viewsOf(database)).has('accounts')) return;
  throw new Refusal(
    '"accounts" is a view of the accounts of your site: add, change or remove them there.',
    'conflict',
  );
}

async function unusedId(reader: Reader): Promise<AccountId> {
  const [row] = await reader.rows(
    `SELECT MAX(id) FROM (
       SELECT MAX(id) AS id FROM accounts
       UNION ALL SELECT MAX(account_id) FROM api_keys
       UNION ALL SELECT MAX(reviewed_by) FROM api_keys
       UNION ALL SELECT MAX(actor_id) FROM key_events
       UNION ALL SELECT MAX(account_id) FROM request_turns
     ) ids`,
  );
  const largest = String(row?.[0] ?? 0);
  if (!/^\d+$/.test(largest)) {
    throw new Refusal(
      `An account has the id ${JSON.stringify(largest)}: the accounts seem to be those of your site. Add them there.`,
      'conflict',
    );
  }
  return toAccountId(String(BigInt(largest) + 1n));
}
