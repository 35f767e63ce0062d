/** The messages between the first thread of a proxy and its workers. They arrive in order. */
import type { Batch } from '../access-log/thread-lines.ts';
import type { PageOrder, PageReply } from '../changes/changes.ts';
import type { SharedKey } from '../keys/key-table.ts';
import type { SitePages } from '../site/site.ts';
import type { OpenedFiles } from '../snapshot/open-files.ts';
import type { FleetIdentity } from './serving.ts';

/** The data that a worker is started with. */
export interface WorkerStart extends FleetIdentity {
  /** The number of the thread in the log; the first thread is 1. */
  readonly number: number;
  /** The memory of the address limits, which all threads share. */
  readonly addresses: SharedArrayBuffer;
  /** The memory of the limits of visitors, as in `ServingParts`. */
  readonly visitors: SharedArrayBuffer;
  /** The counts of the requests that the worker answers. */
  readonly counts: Float64Array;
  /** The worker's limits and counts of connections. */
  readonly connections: Float64Array;
  /** How many lines of the access log the worker has dropped. */
  readonly droppedLines: Float64Array;
  /** The state of maintenance, which all threads share. */
  readonly maintenance: Int32Array;
  /** The pages of the site, which the first thread has made. */
  readonly sitePages: SitePages;
}

export type ToWorker =
  | { readonly type: 'listen'; readonly port: number; readonly host: string }
  | { readonly type: 'announce end' | 'close' }
  /** All keys, whenever one changed. */
  | { readonly type: 'keys'; readonly keys: readonly SharedKey[] }
  /** The batch of 'log lines' was written or dropped. */
  | { readonly type: 'lines done' }
  | { readonly type: 'serve'; readonly files: OpenedFiles }
  /** The reply to 'read changes' with the same number. */
  | { readonly type: 'changes'; readonly number: number; readonly reply: PageReply };

export type FromWorker =
  | { readonly type: 'listening' | 'keys known' | 'closed' }
  /** Lines for the access log. The next ones are sent after the answer 'lines done'. */
  | { readonly type: 'log lines'; readonly batch: Batch }
  /** The worker serves the generation, and no longer uses the memory of the one before. */
  | { readonly type: 'serving' }
  | { readonly type: 'read changes'; readonly number: number; readonly order: PageOrder };
