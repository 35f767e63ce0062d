/**
 * Writes the mail of an outbox row when it is about to be sent. Most rows contain the text of their
 * mail. The text of a mail with a sign-in link is written here, with a token that is never stored.
 */
import type { Database } from '../../database/database.ts';
import { findAccount } from '../tables/accounts.ts';
import { fromDatabaseTime } from '../tables/database-time.ts';
import {
  addMailedLink,
  LINK_MINUTES,
  type LinkNote,
  linkNoteText,
  readLinkNote,
} from '../tables/sign-in-links.ts';
import { signInMail } from './mail-texts.ts';
import type { Mail } from './mailer.ts';

/** The columns of `mail_outbox` that are needed to write a mail. */
export interface DueMail {
  readonly id: number;
  /** How many attempts to send the mail were made before. */
  readonly attempts: number;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  /** "YYYY-MM-DD HH:MM:SS" in UTC. */
  readonly createdAt: string;
}

export interface WrittenMail {
  readonly mail: Mail;
  /** The part of the text that must not be stored or logged: the token of a link. */
  readonly secret?: string;
}

/**
 * @param at when the mail is sent
 * @returns undefined if the mail must not be sent any more: an earlier link in it was used, or its
 * account was removed or has another address
 */
export async function writeMail(
  database: Database,
  due: DueMail,
  at: Date,
): Promise<WrittenMail | undefined> {
  const { id, recipient, subject, body, createdAt, attempts } = due;
  const time = createdAt.replace(/\D/g, '');
  const mail = { to: recipient, subject, date: fromDatabaseTime(createdAt) };
  const note = readLinkNote(body);
  // Each attempt sends the same mail with the same id, so that a mail program that receives it twice
  // can show it once.
  if (note === undefined) return { mail: { ...mail, id: `${id}.${time}`, text: body } };
  const link = await makeLink(database, due, note, at);
  if (link === undefined) return undefined;
  // Each attempt has a new token, so it is a different mail and has a different id.
  return {
    mail: { ...mail, id: `${id}.${time}.${attempts}`, text: link.text },
    secret: link.token,
  };
}

async function makeLink(
  database: Database,
  { id, recipient }: DueMail,
  note: LinkNote,
  at: Date,
): Promise<{ token: string; text: string } | undefined> {
  const owner = await findAccount(database, note.accountId);
  if (owner === undefined || owner.email !== recipient) return undefined;
  const link = await database.transaction(async (writer) => {
    const added = await addMailedLink(writer, note, at);
    if (added === undefined) return undefined;
    const body = linkNoteText({ ...note, replaces: added.tokenHash });
    await writer.run('UPDATE mail_outbox SET body = ? WHERE id = ?', [body, id]);
    return added;
  });
  if (link === undefined) return undefined;
  const { token } = link;
  const shown = { token, minutes: LINK_MINUTES, publicUrl: note.publicUrl };
  return { token, text: signInMail(owner, shown).body };
}
