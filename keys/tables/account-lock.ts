/**
 * The turns of an account: who takes one holds every other of the account up until its transaction
 * ends, so that what an account has can be counted and added to without another coming in between.
 */
import type { Database, Writer } from '../../database/database.ts';

/** Makes turns possible for an account. Belongs before the transaction. */
export async function prepareTurns(database: Database, accountId: number): Promise<void> {
  const isThere = async () =>
    (await database.rows('SELECT 1 FROM request_turns WHERE account_id = ?', [accountId])).length >
    0;
  if (await isThere()) return;
  try {
    await database.run('INSERT INTO request_turns (account_id, turns) VALUES (?, 0)', [accountId]);
  } catch (error) {
    // Another request of the account may have come just before.
    if (!(await isThere())) throw error;
  }
}

/** Waits for the account's turn. Belongs at the start of the transaction. */
export async function takeTurn(writer: Writer, accountId: number): Promise<void> {
  await writer.run('UPDATE request_turns SET turns = turns + 1 WHERE account_id = ?', [accountId]);
}
