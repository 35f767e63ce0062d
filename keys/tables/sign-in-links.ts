/**
 * Sign-in links, as rows of `sign_in_links`. A link in a mail gets a new token at each attempt to send
 * the mail. Before the first attempt, its row only counts towards the limit on the links of the account,
 * and nobody knows its token. The database contains hashes of tokens, never tokens.
 */
import {
  type Database,
  type Reader,
  selectCount,
  type Writer,
} from '../../lib/database/database.ts';
import {
  type AccountId,
  addSeconds,
  endsWithin,
  hashToken,
  makeToken,
  toAccountId,
  toDatabaseTime,
} from './values.ts';

export const LINK_MINUTES = 15;
export const LINK_SECONDS = LINK_MINUTES * 60;
/** How many links an account may have at once, so that nobody can flood its mailbox. */
const MOST_LINKS = 5;

/** What the outbox stores instead of the text of a mail with a sign-in link. */
export interface LinkNote {
  readonly accountId: AccountId;
  /** The token hash of the link that the link in the next attempt replaces. */
  readonly replaces: string;
  /** The address of the pages, without a slash at the end. */
  readonly publicUrl: string;
}

/** When a link stops working. @param at when it was created or mailed */
export function endOfLink(at: Date): Date {
  return addSeconds(at, LINK_SECONDS);
}

/** Whether an account has {@link MOST_LINKS} links already. */
export async function hasMostLinks(
  reader: Reader,
  accountId: AccountId,
  at: Date,
): Promise<boolean> {
  const from = 'sign_in_links WHERE account_id = ? AND expires_at > ? AND expires_at <= ?';
  const bounds = endsWithin(at, LINK_SECONDS);
  return (await selectCount(reader, from, [accountId, ...bounds])) >= MOST_LINKS;
}

/** Creates a link. It works for {@link LINK_MINUTES}, starting at `at`. */
export async function addLink(
  writer: Writer,
  accountId: AccountId,
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
 * Creates the link for an attempt to send a mail. The link of the attempt before stops working. Call it
 * within a transaction.
 * @returns undefined if that link was used, or was removed with its account
 */
export async function addMailedLink(
  writer: Writer,
  { replaces, accountId }: LinkNote,
  at: Date,
): Promise<{ token: string; tokenHash: string } | undefined> {
  const { changes } = await writer.run(
    'DELETE FROM sign_in_links WHERE token_hash = ? AND used_at IS NULL',
    [replaces],
  );
  return changes === 1 ? addLink(writer, accountId, at) : undefined;
}

/**
 * Marks a link as used.
 * @returns the id of its account; undefined if the link was used before, has expired or never existed
 */
export async function openLink(
  database: Database,
  token: string,
  at: Date,
): Promise<AccountId | undefined> {
  const { changes } = await database.run(
    `UPDATE sign_in_links SET used_at = ?
     WHERE token_hash = ? AND used_at IS NULL AND expires_at > ? AND expires_at <= ?`,
    [toDatabaseTime(at), hashToken(token), ...endsWithin(at, LINK_SECONDS)],
  );
  if (changes !== 1) return undefined;
  const sql = 'SELECT account_id FROM sign_in_links WHERE token_hash = ?';
  const [row] = await database.rows(sql, [hashToken(token)]);
  return row && toAccountId(row[0]);
}

/** Encodes a note as the body of an outbox row. */
export function linkNoteText({ accountId, replaces, publicUrl }: LinkNote): string {
  return JSON.stringify({ sign_in: { account_id: accountId, replaces, public_url: publicUrl } });
}

/**
 * Reads the note in the body of an outbox row.
 * @returns undefined if the body is the text of a mail, which begins with a greeting
 */
export function readLinkNote(body: string): LinkNote | undefined {
  if (!body.startsWith('{"sign_in":')) return undefined;
  const { account_id, replaces, public_url } = JSON.parse(body).sign_in;
  return { accountId: account_id, replaces, publicUrl: public_url };
}
