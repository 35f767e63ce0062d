/**
 * Opens generations on a separate thread, so that the serving thread can answer requests at
 * the same time. The thread starts with the first order and stays: a new one for each generation takes twice the CPU time.
 */
import { Worker } from 'node:worker_threads';
import type { OpenedFiles, OpenOrder } from './open-files.ts';
import type { FromOpenWorker, ToOpenWorker } from './open-worker.ts';

export interface OpeningThread {
  /**
   * Opens a generation. Must not be called again before it has ended.
   * @param makeRoom awaited before memory is allocated
   * @throws Error that names the file which is missing or damaged
   */
  open(order: OpenOrder, makeRoom: (bytes: number) => Promise<void>): Promise<OpenedFiles>;
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
    async open(order, makeRoom) {
      worker ??= start();
      worker.ref();
      isOpening = true;
      try {
        return await carryOut(worker, order, makeRoom);
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

function carryOut(
  worker: Worker,
  order: OpenOrder,
  makeRoom: (bytes: number) => Promise<void>,
): Promise<OpenedFiles> {
  const send = (message: ToOpenWorker) => worker.postMessage(message);
  const { promise, resolve, reject } = Promise.withResolvers<OpenedFiles>();
  const onMessage = (message: FromOpenWorker) => {
    if ('files' in message) resolve(message.files);
    else if ('error' in message) reject(message.error);
    else makeRoom(message.bytes).then(() => send('continue'), reject);
  };
  const onExit = (code: number) => reject(new Error(`The opening thread ended with ${code}.`));
  worker.on('message', onMessage).once('error', reject).once('exit', onExit);
  send({ order });
  return promise.finally(() => {
    worker.off('message', onMessage).off('error', reject).off('exit', onExit);
  });
}
