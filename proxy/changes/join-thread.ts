/**
 * Joins differences on a separate thread, so that no request waits while thousands of files are
 * read. The thread starts with the first order, and ends when it has had none for a while.
 */
import { Worker } from 'node:worker_threads';
import type { JoinOrder, JoinReply } from './join-worker.ts';

/** Starting the thread takes about 50 ms of CPU time, and its memory about 10 MB. */
const IDLE_MS = 60_000;

/** A list of 400,000 changes from 2,880 differences, a month of runs, needs 40 MB of this. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

export interface JoinThread {
  /**
   * The caller must wait for the reply before it calls again.
   * @throws Error if the thread fails
   */
  join(order: JoinOrder): Promise<JoinReply>;
  close(): void;
}

export function makeJoinThread(snapshotsDir: string): JoinThread {
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  function end(): void {
    clearTimeout(idle);
    void worker?.terminate();
    worker = undefined;
  }

  function start(): Worker {
    return new Worker(new URL('./join-worker.ts', import.meta.url), {
      workerData: snapshotsDir,
      resourceLimits: HEAP,
    });
  }

  return {
    join(order) {
      clearTimeout(idle);
      worker ??= start();
      const current = worker;
      return new Promise<JoinReply>((resolve, reject) => {
        const fail = (cause: unknown) => {
          end();
          reject(new Error('The thread that joins differences failed.', { cause }));
        };
        const onExit = (code: number) => fail(new Error(`It ended with ${code}.`));
        current.once('error', fail);
        current.once('exit', onExit);
        current.once('message', (reply: JoinReply) => {
          current.off('error', fail);
          current.off('exit', onExit);
          // Between orders, the thread must not keep the process alive.
          current.unref();
          idle = setTimeout(end, IDLE_MS).unref();
          resolve(reply);
        });
        current.ref();
        current.postMessage(order);
      });
    },
    close: end,
  };
}
