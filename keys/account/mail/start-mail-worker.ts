/** Starts and ends the mail worker, and passes requests for sign-in links to it. */
import { Worker } from 'node:worker_threads';
import type { MailWorkerData, ToMailWorker } from './mail-messages.ts';

/** How many requests for links may wait at once. Further requests are refused, for any address. */
const MOST_WAITING = 1_000;

export interface MailWorker {
  /**
   * Mails a link to an address, if the address belongs to an account. Takes the same time for every
   * address.
   * @returns false if too many requests are waiting
   */
  requestLink(email: string): boolean;
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
  data: Omit<MailWorkerData, 'waiting'>,
  onFailure: (error: Error) => void,
): Promise<MailWorker> {
  const waiting = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: MailWorkerData = { ...data, waiting };
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
