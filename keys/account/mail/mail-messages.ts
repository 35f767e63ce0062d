/** The messages and data that the main thread and the mail worker exchange. */
import type { MailSettings } from '../../mail/mailer.ts';

/** The data that the worker gets when it starts. */
export interface MailWorkerData {
  readonly databaseUrl: string;
  readonly mail: MailSettings;
  /** The address of the pages for browsers, without a slash at the end. */
  readonly publicUrl: string;
  readonly logLevel: string;
  /**
   * One element: how many requests for links are not done yet. The main thread increments it, the
   * worker decrements it.
   */
  readonly waiting: Int32Array;
  /** How many attempts to send an e-mail have ended: at {@link SENT} and at {@link FAILED}. */
  readonly attempts: Int32Array;
}

// Indexes of the attempts.
export const SENT = 0;
export const FAILED = 1;

/** To the worker: mail a link to this address, or finish all work and end. */
export type ToMailWorker = 'stop' | { readonly email: string };

/** From the worker: it has started and opened the database. */
export type FromMailWorker = 'ready';
