/**
 * The outbox: a mail is queued in the transaction of the change that it reports, and sent later. Sending
 * is tried until the mail server accepts the mail, or the mail expires or is given up. After a crash, a
 * mail may be sent twice; both then have the same Message-ID, unless the mail contains a sign-in link.
 * Invariant: no row contains a token that signs anybody in.
 */
import type { Database, Reader, Value, Writer } from '../../database/database.ts';
import { addSeconds, fromDatabaseTime, toDatabaseTime } from '../tables/database-time.ts';
import { toNumber, toText } from '../tables/values.ts';
import type { MailText } from './mail-texts.ts';
import { type DueMail, type WrittenMail, writeMail } from './mail-writing.ts';
import { isMailAddress, isRefusal, type Mailer } from './mailer.ts';

const MAILS_A_ROUND = 100;
const MOST_COUNTED = 10_000;
/** How long a mail is reserved for the program that sends it. Sending it takes less time. */
const CLAIM_SECONDS = 900;
const LONGEST_ROUND_MS = 300_000;
const FIRST_PAUSE_SECONDS = 10;
const LONGEST_PAUSE_SECONDS = 3600;
/** After this time, a mail is given up. RFC 5321, section 4.5.4.1 asks for at least 4 to 5 days. */
const PATIENCE_SECONDS = 5 * 24 * 3600;
/** How long after a mail about a key the next one waits. */
const KEY_PAUSE_SECONDS = 60;
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

const COLUMNS = [
  'id',
  'key_id',
  'recipient',
  'subject',
  'created_at',
  'expires_at',
  'attempts',
  'next_attempt_at',
  'sent_at',
  'last_error',
] as const satisfies readonly (keyof QueuedMail)[];

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
 * Sends the mails that are due, in the order in which they became due, and about each key at most one in
 * {@link KEY_PAUSE_SECONDS}. Stops at the first failure that concerns all mails; the other mails stay due.
 * @returns how many mails were sent, and how many failed
 */
export async function sendDueMails(
  database: Database,
  mailer: Mailer,
  now: Date,
): Promise<{ sent: number; failed: number }> {
  const due = await database.rows(
    `SELECT id, key_id, expires_at, attempts, recipient, subject, body, created_at
     FROM mail_outbox m WHERE next_attempt_at <= ? AND NOT EXISTS (
       SELECT 1 FROM mail_outbox s WHERE s.key_id = m.key_id AND s.sent_at > ?
     ) ORDER BY next_attempt_at, id LIMIT ${MAILS_A_ROUND}`,
    [toDatabaseTime(now), toDatabaseTime(addSeconds(now, -KEY_PAUSE_SECONDS))],
  );
  const sentAbout = new Set<Value>();
  let sent = 0;
  let failed = 0;
  const started = performance.now();
  for (const [id, keyId, expiresAt, attempts, recipient, subject, body, createdAt] of due) {
    const elapsed = performance.now() - started;
    if (elapsed > LONGEST_ROUND_MS) break;
    if (sentAbout.has(keyId)) continue;
    const row: DueMail = {
      id: Number(id),
      attempts: Number(attempts),
      recipient: String(recipient),
      subject: String(subject),
      body: String(body),
      createdAt: String(createdAt),
    };
    if (!(await claim(database, row, now))) continue;
    const at = new Date(now.getTime() + elapsed);
    if (expiresAt !== null && String(expiresAt) <= toDatabaseTime(at)) {
      await giveUp(database, row.id, 'It expired before it was sent.');
      continue;
    }
    const written = await writeMail(database, row, at);
    if (written === undefined) {
      await giveUp(
        database,
        row.id,
        'Its link was used, or its account was removed or has another address.',
      );
      continue;
    }
    try {
      await mailer.send(written.mail);
    } catch (error) {
      failed++;
      await putOff(database, row, { why: reasonOf(error, written), now });
      if (!isRefusal(error)) break;
      continue;
    }
    sent++;
    if (keyId !== null) sentAbout.add(keyId);
    await database.run(
      `UPDATE mail_outbox SET sent_at = ?, next_attempt_at = NULL, body = '', last_error = NULL
       WHERE id = ?`,
      [toDatabaseTime(new Date(now.getTime() + performance.now() - started)), row.id],
    );
  }
  return { sent, failed };
}

/** Removes mails {@link KEPT_SECONDS} after they were sent, or were queued and then never sent. */
export async function removeOldMails(database: Database, now: Date): Promise<void> {
  const oldest = toDatabaseTime(addSeconds(now, -KEPT_SECONDS));
  await database.run(
    `DELETE FROM mail_outbox WHERE sent_at < ?
       OR (sent_at IS NULL AND next_attempt_at IS NULL AND created_at < ?)`,
    [oldest, oldest],
  );
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
  const time = toText(oldest ?? null);
  return {
    waiting: Number(waiting),
    oldest: time === null ? undefined : fromDatabaseTime(time),
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
    `SELECT ${COLUMNS.join(', ')} FROM mail_outbox${all ? '' : ' WHERE sent_at IS NULL'} ORDER BY id`,
  );
  return rows.map(([id, key, recipient, subject, created, expires, attempts, ...rest]) => {
    const [nextAttempt, sent, error] = rest.map(toText);
    return {
      id: Number(id),
      key_id: toNumber(key),
      recipient: String(recipient),
      subject: String(subject),
      created_at: String(created),
      expires_at: toText(expires),
      attempts: Number(attempts),
      next_attempt_at: nextAttempt,
      sent_at: sent,
      last_error: error,
    };
  });
}

/**
 * Reserves a mail for this program.
 * @returns whether this program may send it
 */
async function claim(database: Database, { id, attempts }: DueMail, now: Date): Promise<boolean> {
  const { changes } = await database.run(
    `UPDATE mail_outbox SET attempts = ?, next_attempt_at = ?
     WHERE id = ? AND attempts = ? AND next_attempt_at <= ?`,
    [
      attempts + 1,
      toDatabaseTime(addSeconds(now, CLAIM_SECONDS)),
      id,
      attempts,
      toDatabaseTime(now),
    ],
  );
  return changes === 1;
}

async function putOff(
  database: Database,
  { id, attempts, createdAt }: DueMail,
  { why, now }: { why: string; now: Date },
): Promise<void> {
  const pause = Math.min(FIRST_PAUSE_SECONDS * 2 ** attempts, LONGEST_PAUSE_SECONDS);
  const next = addSeconds(now, pause);
  const isGivenUp = next > addSeconds(fromDatabaseTime(createdAt), PATIENCE_SECONDS);
  await database.run('UPDATE mail_outbox SET next_attempt_at = ?, last_error = ? WHERE id = ?', [
    isGivenUp ? null : toDatabaseTime(next),
    why,
    id,
  ]);
}

async function giveUp(database: Database, id: number, why: string): Promise<void> {
  await database.run(
    "UPDATE mail_outbox SET next_attempt_at = NULL, body = '', last_error = ? WHERE id = ?",
    [why, id],
  );
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
