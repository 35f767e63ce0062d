/** What the thread that serves pages and the mail worker hand each other. */
import type { MailSettings } from '../../mail/mailer.ts';

/** What the worker starts with. */
export interface MailWorkerData {
  readonly databaseUrl: string;
  readonly mail: MailSettings;
  /** Where browsers reach the pages, without a slash at the end. */
  readonly publicUrl: string;
  readonly logLevel: string;
  /** One entry: how many requests for links are not done yet. The worker counts it down. */
  readonly waiting: Int32Array;
}

/** To the worker: mail a link to the owner of an address, or finish and end. */
export type ToMailWorker = 'stop' | { readonly email: string };

/** From the worker: it has opened the database. */
export type FromMailWorker = 'ready';
