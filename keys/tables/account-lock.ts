/**
 * The lock of an account, a row of `request_turns`. While one transaction holds the lock, other
 * transactions that want it wait. A transaction can therefore count the requests or links of an account
 * and add one without exceeding a limit.
 */
import type { Database, Reader, Writer } from '../../database/database.ts';

/** Does `work` in a transaction that holds the lock of an account. */
export async function withAccountLock<T>(
  database: Database,
  accountId: number,
  work: (writer: Writer) => Promise<T>,
): Promise<T> {
  await prepareLock(database, accountId);
  return database.transaction(async (writer) => {
    await lockAccount(writer, accountId);
    return work(writer);
  });
}

/** Takes the account's lock until the transaction ends. Call it at the start of the transaction. */
export async function lockAccount(writer: Writer, accountId: number): Promise<void> {
  await writer.run('UPDATE request_turns SET turns = turns + 1 WHERE account_id = ?', [accountId]);
}

/** Creates the row for an account's lock, unless it exists. */
async function prepareLock(database: Database, accountId: number): Promise<void> {
  if (await hasLock(database, accountId)) return;
  try {
    await database.run('INSERT INTO request_turns (account_id, turns) VALUES (?, 0)', [accountId]);
  } catch (error) {
    // Another request of the account may have created the row in the meantime.
    if (!(await hasLock(database, accountId))) throw error;
  }
}

async function hasLock(reader: Reader, accountId: number): Promise<boolean> {
  const rows = await reader.rows('SELECT 1 FROM request_turns WHERE account_id = ?', [accountId]);
  return rows.length > 0;
}
