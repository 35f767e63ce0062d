/**
 * The two loops of the mail worker: one makes the links that visitors ask for, the other sends the
 * mails of the outbox. While the database cannot be reached, both wait and nothing is lost.
 */
import type { Logger } from 'pino';
import type { Database } from '../../../database/database.ts';
import { poll } from '../../../program/poll.ts';
import { mailSignInLink } from '../../lifecycle/sign-in.ts';
import type { Mailer } from '../../mail/mailer.ts';
import { sendDueMails } from '../../mail/outbox.ts';
import { endOfLink } from '../../tables/sign-in-links.ts';

const POLL_MS = 1_000;
/** How many links are made at once. */
const CONCURRENCY = 8;

export interface MailLoops {
  /** Mails a link to the owner of an address, if an account has it, within the next seconds. */
  requestLink(email: string): void;
  /** Makes the links that were asked for, and resolves when all work has ended. */
  stop(): Promise<void>;
}

export interface MailWork {
  readonly database: Database;
  readonly mailer: Mailer;
  /** Where browsers reach the pages, without a slash at the end. */
  readonly publicUrl: string;
  readonly log: Logger;
  /** Called for each request for a link, when it is done. */
  readonly onRequestDone: () => void;
}

export function startMailLoops(work: MailWork): MailLoops {
  const requests = makeLinkRequests(work);
  const loops = [requests.answer, makeRound(work)].map((step) =>
    poll(step, POLL_MS, (error) => work.log.error({ err: error }, 'the mail worker failed')),
  );
  for (const loop of loops) void loop.start();
  return {
    requestLink: requests.add,
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
      await requests.answer();
      const lost = requests.count();
      if (lost > 0) work.log.error(`${lost} requests for links to sign in are lost`);
    },
  };
}

function makeLinkRequests({ database, publicUrl, log, onRequestDone }: MailWork) {
  const waiting: { readonly email: string; readonly at: Date }[] = [];

  /** @returns false when the database cannot be reached, so that the request has to wait */
  async function makeLink(email: string): Promise<boolean> {
    try {
      await mailSignInLink(database, email, { at: new Date(), publicUrl });
    } catch (error) {
      const isReached = await database.rows('SELECT 1').then(
        () => true,
        () => false,
      );
      if (!isReached) return false;
      // Without the address: the log would show that it has an account.
      log.error(`A link to sign in cannot be made: ${messageOf(error)}`);
    }
    return true;
  }

  async function answerOneByOne(): Promise<void> {
    for (let request = waiting.shift(); request !== undefined; request = waiting.shift()) {
      const isOver = endOfLink(request.at) <= new Date();
      if (!isOver && !(await makeLink(request.email))) {
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
    async answer(): Promise<void> {
      await Promise.all(Array.from({ length: CONCURRENCY }, answerOneByOne));
    },
  };
}

/** @returns a function that sends what is due, and logs when the database goes and when it is back */
function makeRound({ database, mailer, log }: MailWork): () => Promise<void> {
  let isGone = false;
  return async () => {
    try {
      const { sent, failed } = await sendDueMails(database, mailer, new Date());
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
