/**
 * The loops of the mail worker: one creates the sign-in links that visitors request, and one sends the
 * mails in the outbox. While the database cannot be reached, they wait, and no mail is lost.
 */
import type { Logger } from 'pino';
import type { Database } from '../../../database/database.ts';
import { messageOf } from '../../../program/failure.ts';
import { poll } from '../../../program/poll.ts';
import { mailSignInLink } from '../../lifecycle/sign-in.ts';
import type { Mailer } from '../../mail/mailer.ts';
import { removeOldMails, sendDueMails } from '../../mail/outbox.ts';
import { endOfLink } from '../../tables/sign-in-links.ts';

/** In milliseconds: how often links are created and mails are sent, and how often old mails are removed. */
const INTERVALS = { work: 1_000, cleaning: 3_600_000 };
/** How many links are created at the same time. */
const CONCURRENCY = 8;

export interface MailLoops {
  /** Mails a link to an address within seconds, if the address belongs to an account. */
  requestLink(email: string): void;
  /** Creates the links that were requested and sends the mails that are due. */
  now(): Promise<void>;
  /** Creates the links that were requested, and resolves when all work has ended. */
  stop(): Promise<void>;
}

export interface MailWork {
  readonly database: Database;
  readonly mailer: Mailer;
  /** The address of the pages for browsers, without a slash at the end. */
  readonly publicUrl: string;
  readonly log: Logger;
  /** Called for each request for a link, when it is done. */
  readonly onRequestDone: () => void;
  /** Called after each round of sending, with how many mails were sent and how many failed. */
  readonly onRound: (round: { readonly sent: number; readonly failed: number }) => void;
}

export function startMailLoops(work: MailWork, intervals = INTERVALS): MailLoops {
  const requests = makeLinkRequests(work);
  const every = (step: () => Promise<void>, interval: number) =>
    poll(step, interval, (error) => work.log.error({ err: error }, 'the mail worker failed'));
  const links = every(requests.createLinks, intervals.work);
  const mails = every(makeMailRound(work), intervals.work);
  const cleaning = every(() => removeOldMails(work.database, new Date()), intervals.cleaning);
  const loops = [links, mails, cleaning];
  for (const loop of loops) void loop.start();
  return {
    requestLink: requests.add,
    async now() {
      await links.now();
      await mails.now();
    },
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
      await requests.createLinks();
      const lost = requests.count();
      if (lost > 0) work.log.error(`${lost} requests for sign-in links are lost`);
    },
  };
}

function makeLinkRequests({ database, publicUrl, log, onRequestDone }: MailWork) {
  const waiting: { readonly email: string; readonly at: Date }[] = [];

  /** @returns false if the database cannot be reached, so that the request must wait */
  async function createLink(email: string): Promise<boolean> {
    try {
      await mailSignInLink(database, email, { at: new Date(), publicUrl });
    } catch (error) {
      const isReached = await database.rows('SELECT 1').then(
        () => true,
        () => false,
      );
      if (!isReached) return false;
      // The address is left out: otherwise the log would show that it belongs to an account.
      log.error(`A sign-in link cannot be created: ${messageOf(error)}`);
    }
    return true;
  }

  async function createOneByOne(): Promise<void> {
    for (let request = waiting.shift(); request !== undefined; request = waiting.shift()) {
      const isTooLate = endOfLink(request.at) <= new Date();
      if (!isTooLate && !(await createLink(request.email))) {
        waiting.unshift(request);
        return;
      }
      onRequestDone();
    }
  }

  return {
    add(email: string): void {
      waiting.push({ email, at: new Date() });
    },
    count: () => waiting.length,
    async createLinks(): Promise<void> {
      await Promise.all(Array.from({ length: CONCURRENCY }, createOneByOne));
    },
  };
}

/**
 * @returns a function that sends the mails that are due, and logs when the database can no longer be
 * reached and when it can be reached again
 */
function makeMailRound({ database, mailer, log, onRound }: MailWork): () => Promise<void> {
  let isGone = false;
  return async () => {
    try {
      const { sent, failed } = await sendDueMails(database, mailer, new Date());
      onRound({ sent, failed });
      if (failed > 0) log.warn({ sent, failed }, 'mails could not be sent; they are tried again');
      else if (sent > 0) log.info({ sent }, 'mails are sent');
      await database.eraseDeleted();
      if (isGone) log.info('the database is back; e-mails are sent again');
      isGone = false;
    } catch (error) {
      if (!isGone) log.error(`E-mails wait until the database is back: ${messageOf(error)}`);
      isGone = true;
    }
  };
}
