/**
 * Signs users in without a password: creates sign-in links, and the sessions that they open. The
 * database contains only hashes of their tokens, so nobody can sign in by reading it.
 */
import type { Database } from '../../database/database.ts';
import { SIGN_IN_SUBJECT } from '../mail/mail-texts.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { withAccountLock } from '../tables/account-lock.ts';
import { findAccountByEmail } from '../tables/accounts.ts';
import { addSeconds, toDatabaseTime } from '../tables/database-time.ts';
import {
  addLink,
  endOfLink,
  hasMostLinks,
  linkNoteText,
  removeOldLinks,
} from '../tables/sign-in-links.ts';
import { hashToken, makeToken } from '../tables/tokens.ts';

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
  await removeOldLinks(database, at);
  return withAccountLock(database, owner.id, async (writer) => {
    if (await hasMostLinks(writer, owner.id, at)) return false;
    // This token is never used: `writeMail` replaces it when the mail is sent.
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

/**
 * Creates a sign-in link for an operator, who gets one however many were mailed.
 * @returns its token; undefined if no account has the address
 */
export async function createSignInLink(
  database: Database,
  email: string,
  at: Date,
): Promise<string | undefined> {
  const owner = await findAccountByEmail(database, email);
  if (owner === undefined) return undefined;
  await removeOldLinks(database, at);
  return (await addLink(database, owner.id, at)).token;
}

/** @returns the token of a new session, which belongs only in the session cookie */
export async function createSession(
  database: Database,
  accountId: number,
  at: Date,
): Promise<string> {
  const token = makeToken();
  const now = toDatabaseTime(at);
  await database.run('DELETE FROM sessions WHERE expires_at <= ?', [now]);
  await database.run(
    `INSERT INTO sessions (token_hash, account_id, created_at, expires_at, csrf_secret)
     VALUES (?, ?, ?, ?, ?)`,
    [
      hashToken(token),
      accountId,
      now,
      toDatabaseTime(addSeconds(at, SESSION_SECONDS)),
      makeToken(),
    ],
  );
  return token;
}

/** @returns undefined if the session was ended, has expired, or never existed */
export async function findSession(
  database: Database,
  token: string,
  at: Date,
): Promise<{ accountId: number; csrfSecret: string } | undefined> {
  const [row] = await database.rows(
    'SELECT account_id, csrf_secret FROM sessions WHERE token_hash = ? AND expires_at > ?',
    [hashToken(token), toDatabaseTime(at)],
  );
  return row && { accountId: Number(row[0]), csrfSecret: String(row[1]) };
}

export async function endSession(database: Database, token: string): Promise<void> {
  await database.run('DELETE FROM sessions WHERE token_hash = ?', [hashToken(token)]);
}
