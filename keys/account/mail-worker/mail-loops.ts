/**
 * The loops of the mail worker: one creates the sign-in links that visitors request, and one sends the
 * mails in the outbox. While the database cannot be reached, they wait, and no mail is lost.
 */
import type { Logger } from 'pino';
import { type Database, isAway } from '../../../lib/database/database.ts';
import { messageOf } from '../../../lib/program/failure.ts';
import { poll } from '../../../lib/program/poll.ts';
import { mailSignInLink, removeOldSignIns } from '../../lifecycle/sign-in.ts';
import type { Mailer } from '../../mail/mailer.ts';
import { removeOldMails, sendDueMails } from '../../mail/outbox.ts';
import { LINK_SECONDS } from '../../tables/sign-in-links.ts';
import type { MailProgress } from './start-mail-worker.ts';

/** In milliseconds: how often links are created and mails are sent, and how often old rows are removed. */
const INTERVALS = { work: 1_000, cleaning: 3_600_000 };

export interface MailLoops {
  /** Mails a link to an address within seconds, if the address belongs to an account. */
  requestLink(email: string): void;
  /** Creates the links that were requested and sends the mails that are due. */
  now(): Promise<void>;
  /** Creates the links that were requested, and resolves when all work has ended. */
  stop(): Promise<void>;
}

interface MailWork {
  readonly database: Database;
  readonly mailer: Mailer;
  /** The address of the pages for browsers, without a slash at the end. */
  readonly publicUrl: string;
  readonly log: Logger;
  /** Called when a request for a link is done, and after each round of sending. */
  readonly onProgress: (progress: MailProgress) => void;
}

export function startMailLoops(work: MailWork, intervals = INTERVALS): MailLoops {
  const { database, mailer, publicUrl, log, onProgress } = work;
  /** Since when each waits, on the monotonic clock. */
  const requests: { readonly email: string; readonly since: number }[] = [];
  let isGone = false;

  /** @throws Error if the database cannot be reached; the requests then wait */
  async function createLinks(): Promise<void> {
    for (let request = requests[0]; request !== undefined; request = requests[0]) {
      const now = new Date();
      try {
        const isTooLate = performance.now() - request.since >= LINK_SECONDS * 1000;
        if (!isTooLate) await mailSignInLink(database, request.email, { at: now, publicUrl });
      } catch (error) {
        if (await isAway(database, error)) throw error;
        // The address is left out: otherwise the log would show that it belongs to an account.
        log.error(`A sign-in link cannot be created: ${messageOf(error)}`);
      }
      requests.shift();
      onProgress({ links: 1, sent: 0, failed: 0 });
    }
  }

  async function sendMails(): Promise<void> {
    const { sent, failed } = await sendDueMails(database, mailer, new Date());
    onProgress({ links: 0, sent, failed });
    if (failed > 0) log.warn({ sent, failed }, 'mails could not be sent: see "keys outbox"');
    else if (sent > 0) log.info({ sent }, 'mails are sent');
    await database.eraseDeleted();
    if (isGone) log.info('the database is back; e-mails are sent again');
    isGone = false;
  }

  async function clean(): Promise<void> {
    const now = new Date();
    await removeOldMails(database, now);
    await removeOldSignIns(database, now);
  }

  function noteGone(error: Error): void {
    if (!isGone) log.error(`E-mails wait until the database is back: ${messageOf(error)}`);
    isGone = true;
  }

  const links = poll(createLinks, intervals.work, noteGone);
  const mails = poll(sendMails, intervals.work, noteGone);
  const cleaning = poll(clean, intervals.cleaning, noteGone);
  for (const loop of [links, mails, cleaning]) void loop.run();
  return {
    requestLink(email) {
      requests.push({ email, since: performance.now() });
    },
    async now() {
      await links.run();
      await mails.run();
    },
    async stop() {
      await Promise.all([links.finish(), mails.stop(), cleaning.stop()]);
      if (requests.length > 0) log.error(`${requests.length} requests for sign-in links are lost`);
    },
  };
}
