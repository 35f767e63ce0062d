/** The serving threads of a proxy, as its first thread sees them. */
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { ConfigurationError } from '../../program/environment/environment.ts';
import { type Call, makeCalls } from './calls.ts';
import {
  type FirstThread,
  makeServingThread,
  type ServingEnvironment,
  type ServingThread,
  type ThreadStart,
} from './serving-thread.ts';

/** The functions that a worker may call. */
export type FirstThreadCalls = { readonly [Name in keyof FirstThread]: FirstThread[Name] };
type ServingCalls = { readonly [Name in keyof ServingThread]: ServingThread[Name] };

/**
 * Starts the threads. A single one is in this thread.
 * @param variables the environment of the workers
 * @param onFailure called when a worker fails. It must end the process: the proxy must not continue with
 * fewer threads
 */
export async function startServingThreads(
  starts: readonly ThreadStart[],
  first: FirstThread,
  environment: ServingEnvironment,
  variables: NodeJS.ProcessEnv,
  log: Logger,
  onFailure: (error: Error) => void,
): Promise<ServingThread> {
  if (starts.length === 1) return makeServingThread(starts[0], first, environment, log);
  const workers = starts.map(
    (workerData) =>
      new Worker(new URL('./worker.ts', import.meta.url), { workerData, env: variables }),
  );
  const calls = workers.map((worker) => {
    worker.on('error', (error) => onFailure(error as Error));
    return makeCalls<ServingCalls>(worker, { ...first });
  });

  /** Calls the same function of each thread. */
  async function callAll<Name extends keyof ServingThread>(
    name: Name,
    argument: Parameters<Call<ServingCalls>>[1],
  ): Promise<void> {
    await Promise.all(calls.map((call) => call(name, argument as never)));
  }

  return {
    async listen(order) {
      const [leading, ...others] = calls;
      try {
        // The others share its port, which the system may have chosen.
        const found = await leading('listen', order);
        await Promise.all(others.map((call) => call('listen', { ...order, port: found.port })));
        return found;
      } catch (error) {
        throw new ConfigurationError((error as Error).message);
      }
    },
    setKeys: (keys) => callAll('setKeys', keys),
    serve: (files) => callAll('serve', files),
    announceEnd: () => callAll('announceEnd', undefined),
    async close() {
      await callAll('close', undefined);
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}
