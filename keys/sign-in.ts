/**
 * Signing in without a password: a link that is e-mailed and works once, and the session that it
 * opens. Of links and sessions the database holds hashes alone: who reads it cannot sign in.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { findAccountByEmail } from './accounts.ts';
import { addSeconds, toDatabaseTime } from './database-time.ts';
import { signInMail } from './mail-texts.ts';
import { enqueueMail } from './outbox.ts';
import { prepareTurns, takeTurn } from './turns.ts';

export const LINK_MINUTES = 15;
export const SESSION_SECONDS = 7 * 24 * 3600;
/** Links of one account that may hold at once: nobody's mailbox is flooded by asking. */
export const MOST_LINKS = 5;
const TOKEN_BYTES = 32;

/**
 * Mails a link to the owner of an address, to the address that the account has.
 * @returns the token of the link; undefined, which nobody may be told, when no account has the
 * address or enough links are on their way
 */
export async function createSignInLink(
  database: Database,
  email: string,
  { at, publicUrl }: { readonly at: Date; readonly publicUrl: string },
): Promise<string | undefined> {
  const owner = await findAccountByEmail(database, email);
  if (owner === undefined) return undefined;
  const now = toDatabaseTime(at);
  const expiresAt = addSeconds(at, LINK_MINUTES * 60);
  const token = makeToken();
  await database.run('DELETE FROM sign_in_links WHERE expires_at <= ?', [now]);
  await prepareTurns(database, owner.id);
  return database.transaction(async (writer) => {
    await takeTurn(writer, owner.id);
    const [row] = await writer.rows('SELECT COUNT(*) FROM sign_in_links WHERE account_id = ?', [
      owner.id,
    ]);
    if (Number(row?.[0]) >= MOST_LINKS) return undefined;
    await writer.run(
      'INSERT INTO sign_in_links (token_hash, account_id, expires_at) VALUES (?, ?, ?)',
      [hashToken(token), owner.id, toDatabaseTime(expiresAt)],
    );
    await enqueueMail(writer, {
      ...signInMail(owner, { token, minutes: LINK_MINUTES, publicUrl }),
      recipient: owner.email,
      at,
      expiresAt,
    });
    return token;
  });
}

/** Uses a link up. @returns undefined when it was used before, is over, or never was */
export async function openLink(
  database: Database,
  token: string,
  at: Date,
): Promise<{ accountId: number } | undefined> {
  const now = toDatabaseTime(at);
  const { changes } = await database.run(
    `UPDATE sign_in_links SET used_at = ?
     WHERE token_hash = ? AND used_at IS NULL AND expires_at > ?`,
    [now, hashToken(token), now],
  );
  if (changes !== 1) return undefined;
  const [row] = await database.rows('SELECT account_id FROM sign_in_links WHERE token_hash = ?', [
    hashToken(token),
  ]);
  return row && { accountId: Number(row[0]) };
}

/** @returns the token of a new session, for its cookie alone */
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

/** @returns undefined when the session was ended, is over, or never was */
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

function makeToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

function hashToken(token: string): string {
  return hash('sha256', token);
}
