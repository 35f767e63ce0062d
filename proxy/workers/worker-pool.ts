/**
 * The worker threads of a proxy, which serve beside its first thread. Each listens on the same port;
 * keys, limits, counts and the files of generations are in memory that all threads share.
 */
import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { SharedKey } from '../keys/key-table.ts';
import type { GenerationStore } from '../snapshot/generation-store.ts';
import type { ServingThread } from '../snapshot/thread-generations.ts';
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.ts';

export interface WorkerPool {
  announceKeys(keys: readonly SharedKey[]): void;
  /** Resolves when all listen on the first thread's port. */
  listen(port: number, host: string): Promise<void>;
  announceEnd(): void;
  /** Resolves when all have closed. */
  close(): Promise<void>;
}

/**
 * @param threads what each worker writes its counts to
 * @param onFailure called when a worker dies: the proxy must not go on with fewer threads
 */
export function startWorkers(
  threads: readonly Pick<WorkerStart, 'counts' | 'connections'>[],
  addresses: SharedArrayBuffer,
  store: GenerationStore,
  onFailure: (error: Error) => void,
): WorkerPool {
  const workers = threads.map((cells, index) => {
    const { port1, port2 } = new MessageChannel();
    const start: WorkerStart = { ...cells, number: index + 2, addresses, keys: port2 };
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: start,
      transferList: [port2],
    });
    worker.on('error', (error) => onFailure(error as Error));
    joinStore(worker, store);
    port1.unref();
    return { worker, keys: port1 };
  });

  const sendAll = (message: ToWorker) => {
    for (const { worker } of workers) worker.postMessage(message);
  };

  /** Sends a message, and resolves when all workers have answered with one of a type. */
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

/** Makes a worker one of the threads that serve what the store opens. */
function joinStore(worker: Worker, store: GenerationStore): void {
  const send = (message: ToWorker) => worker.postMessage(message);
  // A worker answers orders to forget in the order in which it gets them.
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
    if (message.type === 'ask') store.ask(message.id, thread);
    else if (message.type === 'forgotten') forgetting.shift()?.();
  });
}
