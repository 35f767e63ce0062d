/**
 * Opens generations on a separate thread, so that the serving thread can answer requests at the same
 * time. The thread starts with the first order and stays: a new one for each generation takes twice the
 * CPU time.
 */
import { Worker } from 'node:worker_threads';
import type { OpenedFiles, OpenOrder } from './open-files.ts';
import type { OpenReply } from './open-worker.ts';

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
  let worker: Worker | undefined;
  let isOpening = false;
  let isClosed = false;

  function start(): Worker {
    const started = new Worker(new URL('./open-worker.ts', import.meta.url), {
      // The descriptors outlive the worker; they are closed with the generation.
      trackUnmanagedFds: false,
    });
    // A thread that has failed, for example for lack of memory, is replaced by the next order. Without a
    // listener, its error would end the proxy.
    started.on('error', () => {});
    started.once('exit', () => {
      if (worker === started) worker = undefined;
    });
    return started;
  }

  /** While no order is carried out, the thread does not keep the process from ending. */
  function rest(): void {
    isOpening = false;
    worker?.unref();
    if (isClosed) void worker?.terminate();
  }

  return {
    async open(order) {
      worker ??= start();
      worker.ref();
      isOpening = true;
      try {
        return await carryOut(worker, order);
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

function carryOut(worker: Worker, order: OpenOrder): Promise<OpenedFiles> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenedFiles>();
  const onMessage = (reply: OpenReply) => {
    if ('files' in reply) resolve(reply.files);
    else reject(reply.error);
  };
  const onExit = (code: number) => reject(new Error(`The opening thread ended with ${code}.`));
  worker.once('message', onMessage).once('error', reject).once('exit', onExit);
  worker.postMessage(order);
  return promise.finally(() => {
    worker.off('message', onMessage).off('error', reject).off('exit', onExit);
  });
}
