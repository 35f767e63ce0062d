/**
 * Signing in without a password: who may have a link, and the session that a link opens. The database
 * holds only hashes of sessions and links, so reading it does not help anybody to sign in.
 */
import type { Database, Writer } from '../../database/database.ts';
import { SIGN_IN_SUBJECT } from '../mail/mail-texts.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { lockAccount, prepareAccountLock } from '../tables/account-lock.ts';
import { type Account, findAccountByEmail } from '../tables/accounts.ts';
import { addSeconds, toDatabaseTime } from '../tables/database-time.ts';
import {
  addLink,
  endOfLink,
  hasMostLinks,
  type LinkNote,
  linkNoteText,
  removeOldLinks,
} from '../tables/sign-in-links.ts';
import { hashToken, makeToken } from '../tables/tokens.ts';

export const SESSION_SECONDS = 7 * 24 * 3600;

interface LinkRequest {
  readonly at: Date;
  /** Where the pages are reached, without a slash at the end. */
  readonly publicUrl: string;
}

/**
 * Queues a mail with a link to the owner of an address, to the address that the account has.
 * @returns false when no account has the address, or it has enough links already; visitors must not
 * learn which
 */
export async function mailSignInLink(
  database: Database,
  email: string,
  request: LinkRequest,
): Promise<boolean> {
  const queued = await withRoomForLink(database, email, request.at, async (writer, owner) => {
    // Nobody gets this token: the mail is sent with another one.
    const { tokenHash } = await addLink(writer, owner.id, request.at);
    await enqueueLink(writer, owner, tokenHash, request);
    return true;
  });
  return queued ?? false;
}

/**
 * Makes a link for an operator, and queues a mail with one more to the address that the account has.
 * @returns the token of the link; undefined when no account has the address, or it has enough links
 * already
 */
export async function createSignInLink(
  database: Database,
  email: string,
  request: LinkRequest,
): Promise<string | undefined> {
  return withRoomForLink(database, email, request.at, async (writer, owner) => {
    const { token } = await addLink(writer, owner.id, request.at);
    await enqueueLink(writer, owner, null, request);
    return token;
  });
}

/** Does `work` under the account's lock, unless the account has enough links already. */
async function withRoomForLink<T>(
  database: Database,
  email: string,
  at: Date,
  work: (writer: Writer, owner: Account) => Promise<T>,
): Promise<T | undefined> {
  const owner = await findAccountByEmail(database, email);
  if (owner === undefined) return undefined;
  // Checked before as well: a flood of requests is turned away without waiting for the account's lock.
  if (await hasMostLinks(database, owner.id, at)) return undefined;
  await removeOldLinks(database, at);
  await prepareAccountLock(database, owner.id);
  return database.transaction(async (writer) => {
    await lockAccount(writer, owner.id);
    return (await hasMostLinks(writer, owner.id, at)) ? undefined : work(writer, owner);
  });
}

async function enqueueLink(
  writer: Writer,
  owner: Account,
  replaces: LinkNote['replaces'],
  { at, publicUrl }: LinkRequest,
): Promise<void> {
  await enqueueMail(writer, {
    subject: SIGN_IN_SUBJECT,
    body: linkNoteText({ accountId: owner.id, replaces, publicUrl }),
    recipient: owner.email,
    at,
    expiresAt: endOfLink(at),
  });
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
