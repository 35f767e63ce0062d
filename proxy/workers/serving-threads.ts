/** The serving threads of a proxy, as its first thread sees them. */
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { ConfigurationError } from '../../program/environment/environment.ts';
import { makeCalls } from './calls.ts';
import {
  type FirstThread,
  makeServingThread,
  type ServingThread,
  type ThreadStart,
} from './serving-thread.ts';

/**
 * Starts the threads. A single one is in this thread.
 * @param onFailure called when a worker fails. It must end the process: the proxy must not continue with
 * fewer threads
 */
export async function startServingThreads(
  starts: readonly ThreadStart[],
  first: FirstThread,
  log: Logger,
  onFailure: (error: Error) => void,
): Promise<ServingThread> {
  if (starts.length === 1) return makeServingThread(starts[0], first, log);
  const workers = starts.map(
    (workerData) => new Worker(new URL('./worker.ts', import.meta.url), { workerData }),
  );
  const calls = workers.map((worker) => {
    worker.on('error', (error) => onFailure(error as Error));
    return makeCalls<ServingThread>(worker, first);
  });
  const [leading, ...others] = calls;
  const all = <Name extends keyof ServingThread>(
    name: Name,
    argument: Parameters<ServingThread[Name]>[0],
  ) => Promise.all(calls.map((call) => call(name, argument))).then(() => {});
  return {
    async listen(port) {
      // The others share its port, which the system may have chosen.
      const found = await leading('listen', port).catch((cause: Error) => {
        // The class of an error is lost between threads.
        throw new ConfigurationError(cause.message, { cause });
      });
      await Promise.all(others.map((call) => call('listen', found.port)));
      return found;
    },
    setKeys: (keys) => all('setKeys', keys),
    serve: (files) => all('serve', files),
    announceEnd: () => all('announceEnd', undefined),
    async close() {
      await all('close', undefined);
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}
