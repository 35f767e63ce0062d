/** Starts and ends the mail worker, and passes requests for sign-in links to it. */
import { Worker } from 'node:worker_threads';
import { FAILED, type MailWorkerData, SENT, type ToMailWorker } from './mail-messages.ts';

/** How many requests for links may wait at once. Further requests are refused, for any address. */
const MOST_WAITING = 1_000;

export interface MailWorker {
  /**
   * Mails a link to an address, if the address belongs to an account. Takes the same time for every
   * address.
   * @returns false if too many requests are waiting
   */
  requestLink(email: string): boolean;
  /** How many requests for links wait, and how many attempts to send an e-mail have ended how. */
  counts(): { readonly links: number; readonly sent: number; readonly failed: number };
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
  data: Omit<MailWorkerData, 'waiting' | 'attempts'>,
  onFailure: (error: Error) => void,
): Promise<MailWorker> {
  const shared = (length: number) =>
    new Int32Array(new SharedArrayBuffer(length * Int32Array.BYTES_PER_ELEMENT));
  const [waiting, attempts] = [shared(1), shared(2)];
  const workerData: MailWorkerData = { ...data, waiting, attempts };
  const worker = new Worker(new URL('./mail-worker.ts', import.meta.url), { workerData });
  const send = (message: ToMailWorker) => worker.postMessage(message);
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', reject);
  });
  worker.on('error', onFailure);
  return {
    requestLink(email) {
      if (Atomics.load(waiting, 0) >= MOST_WAITING) return false;
      Atomics.add(waiting, 0, 1);
      send({ email });
      return true;
    },
    counts: () => ({
      links: Atomics.load(waiting, 0),
      sent: Atomics.load(attempts, SENT),
      failed: Atomics.load(attempts, FAILED),
    }),
    async stop(deadlineMs) {
      send('stop');
      let isCut = false;
      const cut = setTimeout(() => {
        isCut = true;
        worker.terminate();
      }, deadlineMs);
      await ended;
      clearTimeout(cut);
      return !isCut;
    },
  };
}
