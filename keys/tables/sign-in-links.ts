/**
 * Links to sign in with, as rows of `sign_in_links`. A link that is mailed gets its token when the
 * mail is sent, and a new one for each attempt. Until then its row only counts among the links of the
 * account, and nobody can open it. The database holds hashes of tokens, never tokens.
 */
import type { Database, Reader, Writer } from '../../database/database.ts';
import { addSeconds, toDatabaseTime } from './database-time.ts';
import { hashToken, makeToken } from './tokens.ts';

export const LINK_MINUTES = 15;
/** How many links an account may have at once, so that nobody can flood its mailbox. */
export const MOST_LINKS = 5;

/** What the outbox stores instead of the text of a mail with a link. */
export interface LinkNote {
  readonly accountId: number;
  /** The hash of the link that the next one replaces; null: it replaces no link. */
  readonly replaces: string | null;
  /** Where the pages are reached, without a slash at the end. */
  readonly publicUrl: string;
}

/** When a link that is made or mailed now stops working. */
export function endOfLink(at: Date): Date {
  return addSeconds(at, LINK_MINUTES * 60);
}

/** Whether an account has as many links as it may have. */
export async function hasMostLinks(reader: Reader, accountId: number, at: Date): Promise<boolean> {
  const [row] = await reader.rows(
    'SELECT COUNT(*) FROM sign_in_links WHERE account_id = ? AND expires_at > ?',
    [accountId, toDatabaseTime(at)],
  );
  return Number(row?.[0]) >= MOST_LINKS;
}

/** Makes a link of an account, which works for `LINK_MINUTES` from now on. */
export async function addLink(
  writer: Writer,
  accountId: number,
  at: Date,
): Promise<{ token: string; tokenHash: string }> {
  const token = makeToken();
  const tokenHash = hashToken(token);
  await writer.run(
    'INSERT INTO sign_in_links (token_hash, account_id, expires_at) VALUES (?, ?, ?)',
    [tokenHash, accountId, toDatabaseTime(endOfLink(at))],
  );
  return { token, tokenHash };
}

/**
 * Makes the link that a mail is about to be sent with; the link of an earlier attempt stops working.
 * Call it within a transaction.
 * @returns undefined when the earlier one was used, or was removed with its account
 */
export async function addMailedLink(
  writer: Writer,
  { accountId, replaces }: LinkNote,
  at: Date,
): Promise<{ token: string; tokenHash: string } | undefined> {
  if (replaces !== null) {
    const { changes } = await writer.run(
      'DELETE FROM sign_in_links WHERE token_hash = ? AND used_at IS NULL',
      [replaces],
    );
    if (changes !== 1) return undefined;
  }
  return addLink(writer, accountId, at);
}

/** Removes the expired links of all accounts. */
export async function removeOldLinks(database: Database, at: Date): Promise<void> {
  await database.run('DELETE FROM sign_in_links WHERE expires_at <= ?', [toDatabaseTime(at)]);
}

/** Uses a link up. @returns undefined when it was used before, has expired or never existed */
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

/** The note as the outbox stores it. */
export function linkNoteText({ accountId, replaces, publicUrl }: LinkNote): string {
  return JSON.stringify({ sign_in: { account_id: accountId, replaces, public_url: publicUrl } });
}

/**
 * The note that the body of an outbox row holds.
 * @returns undefined when the body is the text of the mail, which begins with a greeting
 */
export function readLinkNote(body: string): LinkNote | undefined {
  if (!body.startsWith('{"sign_in":')) return undefined;
  const { account_id, replaces, public_url } = JSON.parse(body).sign_in;
  return { accountId: account_id, replaces, publicUrl: public_url };
}
