/** What the first thread of a proxy and its workers send each other. Messages keep their order. */
import type { MessagePort } from 'node:worker_threads';
import type { OpenedFiles } from '../snapshot/open-files.ts';

/** What a worker is started with. */
export interface WorkerStart {
  readonly number: number;
  /** Of the address limits. */
  readonly addresses: SharedArrayBuffer;
  /** Of the requests that it answers. */
  readonly counts: Float64Array;
  /** How many connections it may have, and has. */
  readonly connections: Float64Array;
  /** Gets all keys whenever one changed. */
  readonly keys: MessagePort;
}

export type ToWorker =
  | { readonly type: 'listen'; readonly port: number; readonly host: string }
  | { readonly type: 'announce end' | 'close' }
  | { readonly type: 'serve'; readonly files: OpenedFiles }
  | { readonly type: 'opened'; readonly id: string; readonly files: OpenedFiles | 'gone' }
  | { readonly type: 'forget'; readonly id: string };

export type FromWorker =
  | { readonly type: 'listening' | 'closed' }
  /** Wants a generation. */
  | { readonly type: 'ask'; readonly id: string }
  /** The generation's memory is free. */
  | { readonly type: 'forgotten'; readonly id: string };
