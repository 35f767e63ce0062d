/**
 * Signs users in without a password: creates sign-in links, and the sessions that they open. The
 * database contains only hashes of their tokens, so nobody can sign in by reading it.
 */
import type { Database } from '../../lib/database/database.ts';
import { SIGN_IN_SUBJECT } from '../mail/mail-texts.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { findAccountByEmail, withAccountLock } from '../tables/accounts.ts';
import { removeOldRows } from '../tables/old-rows.ts';
import {
  addLink,
  endOfLink,
  hasMostLinks,
  LINK_SECONDS,
  linkNoteText,
} from '../tables/sign-in-links.ts';
import {
  type AccountId,
  addSeconds,
  endsWithin,
  hashToken,
  makeToken,
  toAccountId,
  toDatabaseTime,
} from '../tables/values.ts';

export const SESSION_SECONDS = 7 * 24 * 3600;

/**
 * Queues a mail with a sign-in link to the account with this address.
 * @param publicUrl the address of the pages, without a slash at the end
 * @returns false if no account has the address, or the account has too many links already; visitors
 * must not learn which
 */
export async function mailSignInLink(
  database: Database,
  email: string,
  { at, publicUrl }: { readonly at: Date; readonly publicUrl: string },
): Promise<boolean> {
  const owner = await findAccountByEmail(database, email);
  if (owner === undefined) return false;
  // Checked before the lock as well, so that a flood of requests is refused without waiting for it.
  if (await hasMostLinks(database, owner.id, at)) return false;
  return withAccountLock(database, owner.id, async (writer) => {
    if (await hasMostLinks(writer, owner.id, at)) return false;
    // This token is never used: the outbox replaces it when it sends the mail.
    const { tokenHash } = await addLink(writer, owner.id, at);
    await enqueueMail(writer, {
      subject: SIGN_IN_SUBJECT,
      body: linkNoteText({ accountId: owner.id, replaces: tokenHash, publicUrl }),
      recipient: owner.email,
      at,
      expiresAt: endOfLink(at),
    });
    return true;
  });
}

/** @returns the token of a new session, which belongs only in the session cookie */
export async function createSession(
  database: Database,
  accountId: AccountId,
  at: Date,
): Promise<string> {
  const token = makeToken();
  const [now, end] = [toDatabaseTime(at), addSeconds(at, SESSION_SECONDS)];
  await database.run(
    `INSERT INTO sessions (token_hash, account_id, created_at, expires_at, csrf_secret)
     VALUES (?, ?, ?, ?, ?)`,
    // Earlier versions need the secret, if the session outlives a return to one of them.
    [hashToken(token), accountId, now, toDatabaseTime(end), makeToken()],
  );
  return token;
}

/** @returns the id of the account; undefined if the session was ended, has expired, or never existed */
export async function findSession(
  database: Database,
  token: string,
  at: Date,
): Promise<AccountId | undefined> {
  const [row] = await database.rows(
    'SELECT account_id FROM sessions WHERE token_hash = ? AND expires_at > ? AND expires_at <= ?',
    [hashToken(token), ...endsWithin(at, SESSION_SECONDS)],
  );
  return row && toAccountId(row[0]);
}

export async function endSession(database: Database, token: string): Promise<void> {
  await database.run('DELETE FROM sessions WHERE token_hash = ?', [hashToken(token)]);
}

/** Removes links and sessions some time after their end. */
export async function removeOldSignIns(database: Database, now: Date): Promise<void> {
  const ended = [
    { table: 'sign_in_links', seconds: LINK_SECONDS },
    { table: 'sessions', seconds: SESSION_SECONDS },
  ];
  for (const { table, seconds } of ended) {
    await removeOldRows(database, table, 'expires_at', { seconds, now });
  }
}
