/**
 * The worker threads of a proxy, which answer requests as its first thread does. Every thread listens
 * on the same port. Limits, counts and the files of generations are in memory that all threads share;
 * each worker gets the keys as messages.
 */

import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { HandOn } from '../access-log/thread-lines.ts';
import type { ReadChanges } from '../changes/change-store.ts';
import type { SharedKey } from '../keys/key-table.ts';
import { collectGarbage } from '../snapshot/collect-garbage.ts';
import type { GenerationStore } from '../snapshot/generation-store.ts';
import type { ServingThread } from '../snapshot/thread-generations.ts';
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.ts';

export interface WorkerPool {
  announceKeys(keys: readonly SharedKey[]): void;
  /** Resolves when all workers listen on the first thread's port. */
  listen(port: number, host: string): Promise<void>;
  announceEnd(): void;
  /** Resolves when all workers have closed their servers. */
  close(): Promise<void>;
}

/** The parts of the first thread that all workers use. */
export interface FirstThread {
  readonly store: GenerationStore;
  readonly readChanges: ReadChanges;
  readonly handOnLines: HandOn;
  /**
   * Called when a worker fails. It must end the process, since the proxy must not continue with fewer
   * threads.
   */
  readonly onFailure: (error: Error) => void;
}

/** @param starts for each worker, the memory that it shares with the others, and its place in the fleet */
export function startWorkers(
  starts: readonly Omit<WorkerStart, 'number' | 'keys'>[],
  { store, readChanges, handOnLines, onFailure }: FirstThread,
): WorkerPool {
  const workers = starts.map((shared, index) => {
    const { port1, port2 } = new MessageChannel();
    const start: WorkerStart = { ...shared, number: index + 2, keys: port2 };
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: start,
      transferList: [port2],
    });
    worker.on('error', (error) => onFailure(error as Error));
    joinStore(worker, store);
    answerOrders(worker, readChanges);
    writeLines(worker, handOnLines);
    port1.unref();
    return { worker, keys: port1 };
  });

  const sendAll = (message: ToWorker) => {
    for (const { worker } of workers) worker.postMessage(message);
  };

  /** Sends a message to all workers; resolves when each has replied with a message of type `answer`. */
  async function request(message: ToWorker, answer: 'listening' | 'closed'): Promise<void> {
    const answers = workers.map(({ worker }) => untilMessage(worker, answer));
    sendAll(message);
    await Promise.all(answers);
  }

  return {
    announceKeys(keys) {
      for (const worker of workers) worker.keys.postMessage(keys);
    },
    listen: (port, host) => request({ type: 'listen', port, host }, 'listening'),
    announceEnd: () => sendAll({ type: 'announce end' }),
    close: () => request({ type: 'close' }, 'closed'),
  };
}

async function untilMessage(worker: Worker, type: FromWorker['type']): Promise<void> {
  for (;;) {
    const [message]: FromWorker[] = await once(worker, 'message');
    if (message.type === type) return;
  }
}

/** Connects a worker to the store, so that it serves the generations that the store opens. */
function joinStore(worker: Worker, store: GenerationStore): void {
  const send = (message: ToWorker) => worker.postMessage(message);
  // The resolvers of `forget`. A worker confirms `forget` messages in the order in which it gets them.
  const forgetting: (() => void)[] = [];
  const thread: ServingThread = {
    serve: (files) => send({ type: 'serve', files }),
    opened: (id, files) => send({ type: 'opened', id, files }),
    forget: (id) =>
      new Promise((resolve) => {
        forgetting.push(resolve);
        send({ type: 'forget', id });
      }),
  };
  store.join(thread);
  worker.on('message', (message: FromWorker) => {
    if (message.type === 'open') store.openFor(thread, message.id);
    else if (message.type === 'forgotten') {
      // The messages with its files made this thread refer to the memory, too.
      collectGarbage();
      forgetting.shift()?.();
    }
  });
}

/** Reads changes for a worker. */
function answerOrders(worker: Worker, readChanges: ReadChanges): void {
  worker.on('message', (message: FromWorker) => {
    if (message.type !== 'read changes') return;
    readChanges(message.order, (reply) => {
      const answer: ToWorker = { type: 'changes', number: message.number, reply };
      worker.postMessage(answer);
    });
  });
}

/** Writes the access log of a worker. */
function writeLines(worker: Worker, handOn: HandOn): void {
  const done: ToWorker = { type: 'lines done' };
  worker.on('message', (message: FromWorker) => {
    if (message.type === 'log lines') handOn(message.batch, () => worker.postMessage(done));
  });
}
