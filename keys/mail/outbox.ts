/**
 * E-mails on their way: queued in the transaction of the move that they tell of, sent later and
 * again until a mail server has taken them. A crash between sending and noting so sends a mail
 * twice, with one Message-ID; none is lost. No row ever holds what would sign anybody in.
 */
import type { Database, Reader, Writer } from '../../database/database.ts';
import { addSeconds, fromDatabaseTime, toDatabaseTime } from '../tables/database-time.ts';
import type { MailText } from './mail-texts.ts';
import { type DueMail, type WrittenMail, writeMail } from './mail-writing.ts';
import { isMailAddress, isRefusal, type Mailer } from './mailer.ts';

const MAILS_A_ROUND = 100;
/** For so long a mail belongs to the program that sends it; longer than a round and a mail take. */
const CLAIM_SECONDS = 900;
const LONGEST_ROUND_MS = 300_000;
const FIRST_PAUSE_SECONDS = 10;
const LONGEST_PAUSE_SECONDS = 3600;
/** After so long a mail that cannot be sent is given up: RFC 5321, 4.5.4.1 asks for 4 to 5 days. */
const PATIENCE_SECONDS = 5 * 24 * 3600;
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
  /** null: sent, or given up. */
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
 * Queues a mail. A recipient that is no address stays in the outbox, given up: whoever moves a key
 * must not fail for what an account calls its address.
 */
export async function enqueueMail(
  writer: Writer,
  mail: MailText & {
    readonly recipient: string;
    /** What key it is about. */
    readonly keyId?: number;
    readonly at: Date;
    /** Not worth sending from then on. */
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
      isAddress ? null : 'The recipient is no e-mail address.',
    ],
  );
}

/**
 * Sends what is due, in the order in which it fell due. When no mail server takes anything it stops
 * at once; what is left stays due.
 * @returns how many mails were sent, and how many were tried in vain
 */
export async function sendDueMails(
  database: Database,
  mailer: Mailer,
  now: Date,
): Promise<{ sent: number; failed: number }> {
  const time = toDatabaseTime(now);
  await database.run(
    `UPDATE mail_outbox SET next_attempt_at = NULL, body = '', last_error = 'It expired unsent.'
     WHERE next_attempt_at IS NOT NULL AND expires_at <= ?`,
    [time],
  );
  const due = await database.rows(
    `SELECT id, attempts, recipient, subject, body, created_at FROM mail_outbox
     WHERE next_attempt_at <= ? ORDER BY next_attempt_at, id LIMIT ${MAILS_A_ROUND}`,
    [time],
  );
  let sent = 0;
  let failed = 0;
  const started = performance.now();
  for (const [id, attempts, recipient, subject, body, createdAt] of due) {
    const elapsed = performance.now() - started;
    if (elapsed > LONGEST_ROUND_MS) break;
    const row: DueMail = {
      id: Number(id),
      attempts: Number(attempts),
      recipient: String(recipient),
      subject: String(subject),
      body: String(body),
      createdAt: String(createdAt),
    };
    if (!(await claim(database, row, now))) continue;
    const written = await writeMail(database, row, new Date(now.getTime() + elapsed));
    if (written === undefined) {
      await giveUp(database, row.id, 'Its link was used, or its account is gone or has moved.');
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
    await database.run(
      `UPDATE mail_outbox SET sent_at = ?, next_attempt_at = NULL, body = '', last_error = NULL
       WHERE id = ?`,
      [time, row.id],
    );
  }
  return { sent, failed };
}

/** Makes every mail that was neither sent nor has expired due at once, those given up as well. */
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
  return rows.map(
    (row) => Object.fromEntries(COLUMNS.map((name, place) => [name, row[place]])) as never,
  );
}

/** @returns whether the mail is now this program's to send */
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

/** Why a mail was not taken, without its secret: a mail server may quote the mail in its answer. */
function reasonOf(error: unknown, { secret }: WrittenMail): string {
  const message = error instanceof Error ? error.message : String(error);
  const clean = secret === undefined ? message : message.replaceAll(secret, '…');
  return clean.slice(0, LONGEST_ERROR);
}
