/** Starts and ends the mail worker, and passes requests for sign-in links to it. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
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

/** To the worker: mail a link to this address, or finish all work and end. */
export type ToMailWorker = 'stop' | { readonly email: string };

/** From the worker: how many requests for links it has done, and attempts to send an e-mail that ended. */
export interface MailProgress {
  readonly links: number;
  readonly sent: number;
  readonly failed: number;
}

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
  const send = (message: ToMailWorker) => worker.postMessage(message);
  const ended = new Promise<number>((resolve) => worker.once('exit', resolve));
  await once(worker, 'message');
  worker.on('error', onFailure);
  const counts = { links: 0, sent: 0, failed: 0 };
  worker.on('message', ({ links, sent, failed }: MailProgress) => {
    counts.links -= links;
    counts.sent += sent;
    counts.failed += failed;
  });
  return {
    requestLink(email) {
      if (counts.links >= MOST_WAITING) return false;
      counts.links++;
      send({ email });
      return true;
    },
    counts: () => counts,
    async stop(deadlineMs) {
      send('stop');
      const cut = setTimeout(() => worker.terminate(), deadlineMs);
      const code = await ended;
      clearTimeout(cut);
      return code === 0;
    },
  };
}
