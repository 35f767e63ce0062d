/** Starts and ends the mail worker, and passes requests for sign-in links to it. */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { makeCalls } from '../../../lib/program/calls.ts';
import type { MailSettings } from '../../mail/mailer.ts';

/** How many requests for links may wait at once. Further requests are refused, for any address. */
const MOST_WAITING = 1_000;

/** The data that the worker gets when it starts. */
export interface MailWorkerData {
  readonly databaseUrl: string;
  readonly mail: MailSettings;
  /** The address of the pages for browsers, without a slash at the end. */
  readonly publicUrl: string;
  readonly logLevel: string;
}

/** How many requests for links are done, and how many attempts to send an e-mail have ended how. */
export interface MailProgress {
  readonly links: number;
  readonly sent: number;
  readonly failed: number;
}

/** What the worker does for the thread that serves the pages. */
export type MailThread = {
  /** Resolves once the worker has started. */
  begin(): void;
  /** Mails a link to an address within seconds, if the address belongs to an account. */
  requestLink(email: string): void;
  /** Resolves once all work has ended. */
  finish(): Promise<void>;
};

/** What the thread that serves the pages does for the worker. */
export type PageThread = { noteProgress(progress: MailProgress): void };

export interface MailWorker {
  /**
   * Mails a link to an address, if the address belongs to an account. Takes the same time for every
   * address.
   * @returns false if too many requests are waiting
   */
  requestLink(email: string): boolean;
  /** How many requests for links wait, and how many attempts to send an e-mail have ended how. */
  counts(): MailProgress;
  /**
   * Waits until the worker has finished its work. Ends it when the deadline is over.
   * @returns whether it finished in time
   */
  stop(deadlineMs: number): Promise<boolean>;
}

/**
 * @param onFailure called if the worker fails after its start
 * @throws Error if the worker cannot start, for example because the database cannot be reached
 */
export async function startMailWorker(
  workerData: MailWorkerData,
  onFailure: (error: Error) => void,
): Promise<MailWorker> {
  const worker = new Worker(new URL('./mail-worker.ts', import.meta.url), { workerData });
  const counts = { links: 0, sent: 0, failed: 0 };
  const call = makeCalls<MailThread>(worker, {
    noteProgress({ links, sent, failed }: MailProgress) {
      counts.links -= links;
      counts.sent += sent;
      counts.failed += failed;
    },
  } satisfies PageThread);
  await call('begin');
  worker.on('error', onFailure);
  return {
    requestLink(email) {
      if (counts.links >= MOST_WAITING) return false;
      counts.links++;
      void call('requestLink', email);
      return true;
    },
    counts: () => counts,
    async stop(deadlineMs) {
      const finished = call('finish').then(() => true);
      const isFinished = await Promise.race([finished, pause(deadlineMs, false)]);
      await worker.terminate();
      return isFinished;
    },
  };
}
