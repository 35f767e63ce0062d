/**
 * Signs users in without a password: creates sign-in links, and the sessions that they open. The
 * database contains only hashes of their tokens, so nobody can sign in by reading it.
 */
import type { Database, Writer } from '../../database/database.ts';
import { SIGN_IN_SUBJECT, SIGN_UP_SUBJECT } from '../mail/mail-texts.ts';
import { isMailAddress } from '../mail/mailer.ts';
import { enqueueMail } from '../mail/outbox.ts';
import { lockAccount, prepareAccountLock } from '../tables/account-lock.ts';
import { type Account, findAccountByEmail, isKnownEmail } from '../tables/accounts.ts';
import { addSeconds, toDatabaseTime } from '../tables/database-time.ts';
import {
  addLink,
  endOfLink,
  hasMostLinks,
  hasMostSignUps,
  type LinkNote,
  linkNoteText,
  NO_ACCOUNT,
  removeOldLinks,
} from '../tables/sign-in-links.ts';
import { hashToken, makeToken } from '../tables/tokens.ts';

export const SESSION_SECONDS = 7 * 24 * 3600;

interface LinkRequest {
  readonly at: Date;
  /** The address of the pages, without a slash at the end. */
  readonly publicUrl: string;
  /** Whether an address without an account gets a link that creates one. */
  readonly maySignUp?: boolean;
}

/**
 * Queues a mail with a sign-in link to the account with this address.
 * @returns false if no account has the address, or the account has too many links already; visitors
 * must not learn which
 */
export async function mailSignInLink(
  database: Database,
  email: string,
  request: LinkRequest,
): Promise<boolean> {
  if (request.maySignUp && !(await isKnownEmail(database, email))) {
    return mailSignUpLink(database, email, request);
  }
  const queued = await withRoomForLink(database, email, request.at, async (writer, owner) => {
    const link = { accountId: owner.id };
    // This token is never used: `writeMail` replaces it when the mail is sent.
    const { tokenHash } = await addLink(writer, link, request.at);
    await enqueueLink(writer, owner.email, { ...link, replaces: tokenHash }, request);
    return true;
  });
  return queued ?? false;
}

/** Queues a mail with a link that creates an account, unless there are too many such links. */
async function mailSignUpLink(
  database: Database,
  email: string,
  request: LinkRequest,
): Promise<boolean> {
  if (!isMailAddress(email) || (await hasMostSignUps(database, email, request.at))) return false;
  await removeOldLinks(database, request.at);
  await prepareAccountLock(database, NO_ACCOUNT);
  return database.transaction(async (writer) => {
    await lockAccount(writer, NO_ACCOUNT);
    if (await hasMostSignUps(writer, email, request.at)) return false;
    const link = { accountId: NO_ACCOUNT, email };
    const { tokenHash } = await addLink(writer, link, request.at);
    await enqueueLink(writer, email, { ...link, replaces: tokenHash }, request);
    return true;
  });
}

/**
 * Creates a sign-in link for an operator, and queues a mail with a second link to the account.
 * @returns the token of the first link; undefined if no account has the address, or the account has
 * too many links already
 */
export async function createSignInLink(
  database: Database,
  email: string,
  request: LinkRequest,
): Promise<string | undefined> {
  return withRoomForLink(database, email, request.at, async (writer, owner) => {
    const link = { accountId: owner.id };
    const { token } = await addLink(writer, link, request.at);
    await enqueueLink(writer, owner.email, { ...link, replaces: null }, request);
    return token;
  });
}

/** Does `work` under the lock of the account, unless the account has too many links already. */
async function withRoomForLink<T>(
  database: Database,
  email: string,
  at: Date,
  work: (writer: Writer, owner: Account) => Promise<T>,
): Promise<T | undefined> {
  const owner = await findAccountByEmail(database, email);
  if (owner === undefined) return undefined;
  // Checked before the lock as well, so that a flood of requests is refused without waiting for it.
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
  recipient: string,
  note: Omit<LinkNote, 'publicUrl'>,
  { at, publicUrl }: LinkRequest,
): Promise<void> {
  await enqueueMail(writer, {
    subject: note.email === undefined ? SIGN_IN_SUBJECT : SIGN_UP_SUBJECT,
    body: linkNoteText({ ...note, publicUrl }),
    recipient,
    at,
    expiresAt: endOfLink(at),
  });
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
