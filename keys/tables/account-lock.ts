/**
 * The lock of an account. The transaction that takes it holds up all others of the account until it
 * ends, so that it can count what the account has and add to it. The lock is a row of
 * `request_turns`.
 */
import type { Database, Reader, Writer } from '../../database/database.ts';

/** Makes the row of an account's lock. Call it before the transaction. */
export async function prepareAccountLock(database: Database, accountId: number): Promise<void> {
  if (await hasLock(database, accountId)) return;
  try {
    await database.run('INSERT INTO request_turns (account_id, turns) VALUES (?, 0)', [accountId]);
  } catch (error) {
    // Another request of the account may have made it in the meantime.
    if (!(await hasLock(database, accountId))) throw error;
  }
}

/** Waits for the account's lock. Call it at the start of the transaction. */
export async function lockAccount(writer: Writer, accountId: number): Promise<void> {
  await writer.run('UPDATE request_turns SET turns = turns + 1 WHERE account_id = ?', [accountId]);
}

async function hasLock(reader: Reader, accountId: number): Promise<boolean> {
  const rows = await reader.rows('SELECT 1 FROM request_turns WHERE account_id = ?', [accountId]);
  return rows.length > 0;
}
