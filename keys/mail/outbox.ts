/**
 * The outbox: a mail is queued in the transaction of the change that it reports, and sent later. Sending
 * is tried until the mail server accepts the mail or refuses it for good, or the mail expires or is given up.
 * After a crash, a mail may be sent twice; both then have the same Message-ID, unless the mail contains a
 * sign-in link.
 * Invariant: no row contains a token that signs anybody in.
 */
import type { Database, Reader, Writer } from '../../lib/database/database.ts';
import { findAccount } from '../tables/accounts.ts';
import { removeOldRows } from '../tables/old-rows.ts';
import {
  addMailedLink,
  LINK_MINUTES,
  type LinkNote,
  linkNoteText,
  readLinkNote,
} from '../tables/sign-in-links.ts';
import {
  addSeconds,
  fromDatabaseTime,
  latestTime,
  toDatabaseTime,
  toObject,
} from '../tables/values.ts';
import { type MailText, signInMail } from './mail-texts.ts';
import { isFinalRefusal, isMailAddress, isRefusal, type Mail, type Mailer } from './mailer.ts';

const MAILS_A_ROUND = 100;
const MOST_COUNTED = 10_000;
/** How long a mail is reserved for the program that sends it. A round and its last mail take less time. */
const CLAIM_SECONDS = 900;
const LONGEST_ROUND_MS = 300_000;
const FIRST_PAUSE_SECONDS = 10;
const LONGEST_PAUSE_SECONDS = 3600;
/** After so many attempts, in about five days, a mail is given up. RFC 5321, 4.5.4.1 asks for 4 to 5 days. */
const MOST_ATTEMPTS = 128;
const KEPT_SECONDS = 30 * 24 * 3600;
const LONGEST_RECIPIENT = 320;
const LONGEST_ERROR = 1000;

/** A row of `mail_outbox`, without the body. Times are "YYYY-MM-DD HH:MM:SS" in UTC. */
export interface QueuedMail {
  readonly id: number;
  readonly key_id: number | null;
  readonly recipient: string;
  readonly subject: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly attempts: number;
  /** Null if the mail was sent, has expired or was given up. */
  readonly next_attempt_at: string | null;
  readonly sent_at: string | null;
  readonly last_error: string | null;
}

const COLUMNS = `id, key_id, recipient, subject, created_at, expires_at, attempts,
  next_attempt_at, sent_at, last_error`;

/** Nothing is put off for longer than {@link LONGEST_PAUSE_SECONDS}: a later time comes from a wrong clock. */
const IS_DUE = '(next_attempt_at <= ? OR next_attempt_at > ?)';
const dueTimes = (now: Date) => [toDatabaseTime(now), latestTime(now, LONGEST_PAUSE_SECONDS)];

/** A row with its body. */
type DueMail = QueuedMail & { readonly body: string };

/**
 * Queues a mail. If the recipient is not an e-mail address, the mail stays in the outbox and is not
 * sent: a transition must not fail because an account has a bad address.
 */
export async function enqueueMail(
  writer: Writer,
  mail: MailText & {
    readonly recipient: string;
    /** The key that the mail is about. */
    readonly keyId?: number;
    readonly at: Date;
    /** The mail is not sent from this time on. */
    readonly expiresAt?: Date;
  },
): Promise<void> {
  const isAddress = isMailAddress(mail.recipient);
  const at = toDatabaseTime(mail.at);
  await writer.run(
    `INSERT INTO mail_outbox
       (key_id, recipient, subject, body, created_at, expires_at, next_attempt_at, last_error)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      mail.keyId ?? null,
      mail.recipient.slice(0, LONGEST_RECIPIENT),
      mail.subject,
      isAddress ? mail.body : '',
      at,
      mail.expiresAt === undefined ? null : toDatabaseTime(mail.expiresAt),
      isAddress ? at : null,
      isAddress ? null : 'The recipient is not an e-mail address.',
    ],
  );
}

/**
 * Sends the mails that are due, in the order in which they became due. Stops at the first failure that
 * concerns all mails; the other mails stay due.
 * @returns how many mails were sent, and how many failed
 */
export async function sendDueMails(
  database: Database,
  mailer: Mailer,
  now: Date,
): Promise<{ sent: number; failed: number }> {
  const due = await database.rows(
    `SELECT ${COLUMNS}, body FROM mail_outbox
     WHERE ${IS_DUE} ORDER BY next_attempt_at, id LIMIT ${MAILS_A_ROUND}`,
    dueTimes(now),
  );
  let sent = 0;
  let failed = 0;
  const started = performance.now();
  for (const mail of due.map((row) => toObject<DueMail>(`${COLUMNS}, body`, row))) {
    const elapsed = performance.now() - started;
    if (elapsed > LONGEST_ROUND_MS) break;
    if (!(await claim(database, mail, now))) continue;
    const at = new Date(now.getTime() + elapsed);
    const written = await writeMail(database, mail, at);
    if ('fault' in written) {
      await database.run(
        "UPDATE mail_outbox SET next_attempt_at = NULL, body = '', last_error = ? WHERE id = ?",
        [written.fault, mail.id],
      );
      continue;
    }
    try {
      await mailer.send(written.mail);
    } catch (error) {
      failed++;
      const why = reasonOf(error, written);
      await putOff(database, mail, { why, isFinal: isFinalRefusal(error), now });
      if (!isRefusal(error)) break;
      continue;
    }
    sent++;
    await database.run(
      `UPDATE mail_outbox SET sent_at = ?, next_attempt_at = NULL, body = '', last_error = NULL
       WHERE id = ?`,
      [toDatabaseTime(new Date(now.getTime() + performance.now() - started)), mail.id],
    );
  }
  return { sent, failed };
}

interface WrittenMail {
  readonly mail: Mail;
  /** The part of the text that must not be stored or logged: the token of a link. */
  readonly secret?: string;
}

/**
 * Most rows contain the text of their mail. The text of a mail with a sign-in link is written here, with a
 * token that is never stored.
 * @returns why the mail must not be sent any more, if it must not
 */
async function writeMail(
  database: Database,
  due: DueMail,
  at: Date,
): Promise<WrittenMail | { readonly fault: string }> {
  const { id, recipient, subject, body, created_at, expires_at, attempts } = due;
  // A mail that was queued while the clock was ahead would expire years later.
  const hasExpired = (end: string) => end <= toDatabaseTime(at) || created_at > latestTime(at);
  if (expires_at !== null && hasExpired(expires_at)) {
    return { fault: 'It expired before it was sent.' };
  }
  const created = fromDatabaseTime(created_at);
  const mail = { to: recipient, subject, date: created < at ? created : at };
  const time = created_at.replace(/\D/g, '');
  const note = readLinkNote(body);
  // Each attempt sends the same mail with the same id, so that a mail program that receives it twice
  // can show it once.
  if (note === undefined) return { mail: { ...mail, id: `${id}.${time}`, text: body } };
  const link = await makeLink(database, due, note, at);
  if (link === undefined) {
    return { fault: 'Its link was used, or its account was removed or has another address.' };
  }
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
  return database.transaction(async (writer) => {
    const link = await addMailedLink(writer, note, at);
    if (link === undefined) return undefined;
    const body = linkNoteText({ ...note, replaces: link.tokenHash });
    await writer.run('UPDATE mail_outbox SET body = ? WHERE id = ?', [body, id]);
    const { token } = link;
    const shown = { token, minutes: LINK_MINUTES, publicUrl: note.publicUrl };
    return { token, text: signInMail(owner, shown).body };
  });
}

/** Removes mails {@link KEPT_SECONDS} after they were sent, or were queued and then never sent. */
export async function removeOldMails(database: Database, now: Date): Promise<void> {
  const old = { seconds: KEPT_SECONDS, now };
  await removeOldRows(database, 'mail_outbox', 'sent_at', old);
  const condition = 'sent_at IS NULL AND next_attempt_at IS NULL';
  await removeOldRows(database, 'mail_outbox', 'created_at', { ...old, condition });
}

/**
 * How many mails wait to be sent, up to {@link MOST_COUNTED}, and when the oldest of them was queued;
 * undefined if there are none.
 */
export async function readBacklog(
  reader: Reader,
): Promise<{ readonly waiting: number; readonly oldest: Date | undefined }> {
  const [[waiting, oldest] = []] = await reader.rows(
    `SELECT COUNT(*), MIN(created_at) FROM (
       SELECT created_at FROM mail_outbox WHERE next_attempt_at IS NOT NULL
       ORDER BY next_attempt_at LIMIT ${MOST_COUNTED}
     ) waiting`,
  );
  return {
    waiting: Number(waiting),
    oldest: typeof oldest === 'string' ? fromDatabaseTime(oldest) : undefined,
  };
}

/** Makes all unsent mails due now, including mails that were given up, but not expired ones. */
export async function retryAll(database: Database, now: Date): Promise<void> {
  const time = toDatabaseTime(now);
  await database.run(
    `UPDATE mail_outbox SET next_attempt_at = ?
     WHERE sent_at IS NULL AND body <> '' AND (expires_at IS NULL OR expires_at > ?)`,
    [time, time],
  );
}

/** The mails that were not sent, oldest first; with `all`, the sent ones too. */
export async function listMails(reader: Reader, all = false): Promise<QueuedMail[]> {
  const rows = await reader.rows(
    `SELECT ${COLUMNS} FROM mail_outbox${all ? '' : ' WHERE sent_at IS NULL'} ORDER BY id`,
  );
  return rows.map((row) => toObject<QueuedMail>(COLUMNS, row));
}

/** The last mails that were given up, newest first, but no links that have expired. */
export async function listGivenUp(reader: Reader, most: number): Promise<QueuedMail[]> {
  const rows = await reader.rows(
    `SELECT ${COLUMNS} FROM mail_outbox WHERE sent_at IS NULL AND next_attempt_at IS NULL
       AND (expires_at IS NULL OR body <> '') ORDER BY id DESC LIMIT ${most}`,
  );
  return rows.map((row) => toObject<QueuedMail>(COLUMNS, row));
}

/**
 * Reserves a mail for this program.
 * @returns whether this program may send it
 */
async function claim(database: Database, { id, attempts }: DueMail, now: Date): Promise<boolean> {
  const { changes } = await database.run(
    `UPDATE mail_outbox SET attempts = ?, next_attempt_at = ?
     WHERE id = ? AND attempts = ? AND ${IS_DUE}`,
    [attempts + 1, toDatabaseTime(addSeconds(now, CLAIM_SECONDS)), id, attempts, ...dueTimes(now)],
  );
  return changes === 1;
}

async function putOff(
  database: Database,
  { id, attempts }: DueMail,
  { why, isFinal, now }: { why: string; isFinal: boolean; now: Date },
): Promise<void> {
  const pause = Math.min(FIRST_PAUSE_SECONDS * 2 ** attempts, LONGEST_PAUSE_SECONDS);
  const next = addSeconds(now, pause);
  const isGivenUp = isFinal || attempts + 1 >= MOST_ATTEMPTS;
  await database.run('UPDATE mail_outbox SET next_attempt_at = ?, last_error = ? WHERE id = ?', [
    isGivenUp ? null : toDatabaseTime(next),
    why,
    id,
  ]);
}

/**
 * The message of an error, without the token in the mail: a mail server may quote the mail in its
 * response.
 */
function reasonOf(error: unknown, { secret }: WrittenMail): string {
  const message = error instanceof Error ? error.message : String(error);
  const clean = secret === undefined ? message : message.replaceAll(secret, '…');
  return clean.slice(0, LONGEST_ERROR);
}
