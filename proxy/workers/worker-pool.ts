/**
 * The worker threads of a proxy, which answer requests as its first thread does. Every thread listens
 * on the same port. Limits, counts and the files of generations are in memory that all threads share;
 * each worker gets the keys as messages.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { HandOn } from '../access-log/thread-lines.ts';
import type { ReadChanges } from '../changes/changes.ts';
import type { SharedKey } from '../keys/key-table.ts';
import type { OpenedFiles } from '../snapshot/open-files.ts';
import type { Snapshots } from '../snapshot/snapshots.ts';
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.ts';

export interface WorkerPool {
  /** Resolves when all workers know the keys. */
  announceKeys(keys: readonly SharedKey[]): Promise<void>;
  /** Resolves when all workers listen on the first thread's port. */
  listen(port: number, host: string): Promise<void>;
  announceEnd(): void;
  /** Ends the workers, once all have closed their servers. */
  close(): Promise<void>;
}

/** The parts of the first thread that all workers use. */
export interface FirstThread {
  readonly snapshots: Pick<Snapshots, 'join'>;
  readonly readChanges: ReadChanges;
  readonly handOnLines: HandOn;
  /**
   * Called when a worker fails. It must end the process, since the proxy must not continue with fewer
   * threads.
   */
  readonly onFailure: (error: Error) => void;
}

/**
 * @param starts for each worker, the memory that it shares with the others, and its place in the fleet
 * @param variables the environment of the workers
 */
export function startWorkers(
  starts: readonly Omit<WorkerStart, 'number'>[],
  { snapshots, readChanges, handOnLines, onFailure }: FirstThread,
  variables: NodeJS.ProcessEnv,
): WorkerPool {
  const workers = starts.map((shared, index) => {
    const start: WorkerStart = { ...shared, number: index + 2 };
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: start,
      env: variables,
    });
    worker.on('error', (error) => onFailure(error as Error));
    snapshots.join({ serve: (files) => serveOn(worker, files) });
    answerOrders(worker, readChanges);
    writeLines(worker, handOnLines);
    return worker;
  });

  const sendAll = (message: ToWorker) => {
    for (const worker of workers) worker.postMessage(message);
  };

  /** Sends a message to all workers; resolves when each has replied with a message of type `answer`. */
  async function request(
    message: ToWorker,
    answer: 'listening' | 'keys known' | 'closed',
  ): Promise<void> {
    const answers = workers.map((worker) => untilMessage(worker, answer));
    sendAll(message);
    await Promise.all(answers);
  }

  return {
    announceKeys: (keys) => request({ type: 'keys', keys }, 'keys known'),
    listen: (port, host) => request({ type: 'listen', port, host }, 'listening'),
    announceEnd: () => sendAll({ type: 'announce end' }),
    async close() {
      await request({ type: 'close' }, 'closed');
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

async function untilMessage(worker: Worker, type: FromWorker['type']): Promise<void> {
  for (;;) {
    const [message]: FromWorker[] = await once(worker, 'message');
    if (message.type === type) return;
  }
}

/** Resolves when the worker serves the files. Must not be called again before. */
async function serveOn(worker: Worker, files: OpenedFiles): Promise<void> {
  const serving = untilMessage(worker, 'serving');
  const message: ToWorker = { type: 'serve', files };
  worker.postMessage(message);
  await serving;
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
