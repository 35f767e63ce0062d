/**
 * Sign-in links, as rows of `sign_in_links`. A link in a mail gets a new token at each attempt to send
 * the mail. Before the first attempt, its row only counts towards the limit on the links of the account,
 * and nobody knows its token. The database contains hashes of tokens, never tokens.
 */
import type { Database, Reader, Row, Writer } from '../../database/database.ts';
import { addSeconds, toDatabaseTime } from './database-time.ts';
import { hashToken, makeToken } from './tokens.ts';

export const LINK_MINUTES = 15;
/** How many links an account may have at once, so that nobody can flood its mailbox. */
export const MOST_LINKS = 5;

/** The account id of a link that creates an account. */
export const NO_ACCOUNT = 0;
/** How many links that create an account may exist at once, for one address and for all together. */
const MOST_SIGN_UPS = { perAddress: 3, together: 200 };

/** Who can sign in with a link. */
export interface LinkOwner {
  /** {@link NO_ACCOUNT} if the link creates an account. */
  readonly accountId: number;
  /** The address of the account that the link creates; otherwise undefined. */
  readonly email?: string | undefined;
}

/** What the outbox stores instead of the text of a mail with a sign-in link. */
export interface LinkNote extends LinkOwner {
  /** The token hash of the link that the link in the next attempt replaces; null if it replaces none. */
  readonly replaces: string | null;
  /** The address of the pages, without a slash at the end. */
  readonly publicUrl: string;
}

/** When a link stops working. @param at when it was created or mailed */
export function endOfLink(at: Date): Date {
  return addSeconds(at, LINK_MINUTES * 60);
}

/** Whether an account has {@link MOST_LINKS} links already. */
export async function hasMostLinks(reader: Reader, accountId: number, at: Date): Promise<boolean> {
  const [row] = await reader.rows(
    'SELECT COUNT(*) FROM sign_in_links WHERE account_id = ? AND expires_at > ?',
    [accountId, toDatabaseTime(at)],
  );
  return Number(row?.[0]) >= MOST_LINKS;
}

/** Whether no further link may be created that makes an account for this address. */
export async function hasMostSignUps(reader: Reader, email: string, at: Date): Promise<boolean> {
  const [[together, own] = []] = await reader.rows(
    `SELECT COUNT(*), SUM(LOWER(email) = LOWER(?)) FROM sign_in_links
     WHERE account_id = ? AND expires_at > ?`,
    [email, NO_ACCOUNT, toDatabaseTime(at)],
  );
  return Number(together) >= MOST_SIGN_UPS.together || Number(own) >= MOST_SIGN_UPS.perAddress;
}

/** Creates a link. It works for {@link LINK_MINUTES}, starting at `at`. */
export async function addLink(
  writer: Writer,
  { accountId, email }: LinkOwner,
  at: Date,
): Promise<{ token: string; tokenHash: string }> {
  const token = makeToken();
  const tokenHash = hashToken(token);
  await writer.run(
    'INSERT INTO sign_in_links (token_hash, account_id, expires_at, email) VALUES (?, ?, ?, ?)',
    [tokenHash, accountId, toDatabaseTime(endOfLink(at)), email ?? null],
  );
  return { token, tokenHash };
}

/**
 * Creates the link for an attempt to send a mail. The link of the attempt before stops working. Call it
 * within a transaction.
 * @returns undefined if that link was used, or was removed with its account
 */
export async function addMailedLink(
  writer: Writer,
  { replaces, ...owner }: LinkNote,
  at: Date,
): Promise<{ token: string; tokenHash: string } | undefined> {
  if (replaces !== null) {
    const { changes } = await writer.run(
      'DELETE FROM sign_in_links WHERE token_hash = ? AND used_at IS NULL',
      [replaces],
    );
    if (changes !== 1) return undefined;
  }
  return addLink(writer, owner, at);
}

/** Removes the expired links of all accounts. */
export async function removeOldLinks(database: Database, at: Date): Promise<void> {
  await database.run('DELETE FROM sign_in_links WHERE expires_at <= ?', [toDatabaseTime(at)]);
}

/**
 * Finds a link without using it up.
 * @returns undefined if the link was used before, has expired or never existed
 */
export async function findLink(
  reader: Reader,
  token: string,
  at: Date,
): Promise<LinkOwner | undefined> {
  const [row] = await reader.rows(
    `SELECT account_id, email FROM sign_in_links
     WHERE token_hash = ? AND used_at IS NULL AND expires_at > ?`,
    [hashToken(token), toDatabaseTime(at)],
  );
  return row && toOwner(row);
}

/**
 * Uses a link up.
 * @returns undefined if the link was used before, has expired or never existed
 */
export async function openLink(
  database: Database,
  token: string,
  at: Date,
): Promise<LinkOwner | undefined> {
  const now = toDatabaseTime(at);
  const { changes } = await database.run(
    `UPDATE sign_in_links SET used_at = ?
     WHERE token_hash = ? AND used_at IS NULL AND expires_at > ?`,
    [now, hashToken(token), now],
  );
  if (changes !== 1) return undefined;
  const sql = 'SELECT account_id, email FROM sign_in_links WHERE token_hash = ?';
  const [row] = await database.rows(sql, [hashToken(token)]);
  return row && toOwner(row);
}

function toOwner([accountId, email]: Row): LinkOwner {
  return { accountId: Number(accountId), ...(email === null ? {} : { email: String(email) }) };
}

/** Encodes a note as the body of an outbox row. */
export function linkNoteText({ accountId, replaces, publicUrl, email }: LinkNote): string {
  const note = { account_id: accountId, replaces, public_url: publicUrl, email };
  return JSON.stringify({ sign_in: note });
}

/**
 * Reads the note in the body of an outbox row.
 * @returns undefined if the body is the text of a mail, which begins with a greeting
 */
export function readLinkNote(body: string): LinkNote | undefined {
  if (!body.startsWith('{"sign_in":')) return undefined;
  const { account_id, replaces, public_url, email } = JSON.parse(body).sign_in;
  return { accountId: account_id, replaces, publicUrl: public_url, email };
}
