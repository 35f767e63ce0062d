/**
 * Opens generations on a separate thread, so that the serving threads can answer requests at the same
 * time. The thread starts with the first order and stays: a new one for each generation takes twice the
 * CPU time.
 */
import { Worker } from 'node:worker_threads';
import { type Call, makeCalls } from '../workers/calls.ts';
import type { OpenedFiles, OpenOrder } from './open-files.ts';
import type { OpenWorker } from './open-worker.ts';

export interface OpeningThread {
  /**
   * Opens a generation. Must not be called again before it has ended.
   * @throws Error that names the file which is missing or damaged
   */
  open(order: OpenOrder): Promise<OpenedFiles>;
  /** Ends the thread, after the opening that is under way. What it has opened stays valid. */
  close(): void;
}

export function makeOpeningThread(): OpeningThread {
  let thread: { readonly worker: Worker; readonly call: Call<OpenWorker> } | undefined;
  let isOpening = false;
  let isClosed = false;

  function start() {
    const worker = new Worker(new URL('./open-worker.ts', import.meta.url), {
      // The descriptors outlive the worker; they are closed with the generation.
      trackUnmanagedFds: false,
    });
    // A thread that has failed, for example for lack of memory, is replaced by the next order. Without a
    // listener, its error would end the proxy.
    worker.on('error', () => {});
    worker.once('exit', () => {
      if (thread?.worker === worker) thread = undefined;
    });
    return { worker, call: makeCalls<OpenWorker>(worker) };
  }

  /** While no order is carried out, the thread does not keep the process from ending. */
  function rest(): void {
    isOpening = false;
    thread?.worker.unref();
    if (isClosed) void thread?.worker.terminate();
  }

  return {
    async open(order) {
      thread ??= start();
      thread.worker.ref();
      isOpening = true;
      try {
        return await thread.call('open', order);
      } finally {
        rest();
      }
    },
    close() {
      isClosed = true;
      if (!isOpening) rest();
    },
  };
}
