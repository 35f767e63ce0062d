/**
 * Opens generations on a separate thread, so that the serving threads can answer requests at the same
 * time. The thread starts with the first order and stays: a new one for each generation takes twice the
 * CPU time. Between two orders it refers to no generation: what the proxy closes must be freed.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { type Call, makeCalls } from '../workers/calls.ts';
import { type OpenedFiles, type OpenOrder, openFiles, reportMemory } from './open-files.ts';

type Opening = { open(order: OpenOrder): OpenedFiles };

export function makeOpeningThread() {
  let thread: { readonly worker: Worker; readonly call: Call<Opening> } | undefined;

  function start() {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: ROLE,
      // The descriptors outlive the worker; they are closed with the generation.
      trackUnmanagedFds: false,
    });
    // A thread that has failed, for example for lack of memory, is replaced by the next order. Without a
    // listener, its error would end the proxy.
    worker.on('error', () => {});
    worker.once('exit', () => {
      thread = undefined;
    });
    return { worker, call: makeCalls<Opening>(worker) };
  }

  return {
    /**
     * Opens a generation. What it has opened stays valid after the end of the thread.
     * @throws Error that names the file which is missing or damaged
     */
    open(order: OpenOrder): Promise<OpenedFiles> {
      thread ??= start();
      return thread.call('open', order);
    },
    /** Ends the thread. */
    close: (): void => void thread?.worker.terminate(),
  };
}

/** Tells the program of the thread from its importers. */
const ROLE = 'opens generations';

if (parentPort !== null && workerData === ROLE) {
  makeCalls(parentPort, {
    open(order: OpenOrder) {
      const files = openFiles(order);
      reportMemory(files);
      return files;
    },
  });
}
