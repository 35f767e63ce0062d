/** The serving threads of a proxy, as its first thread sees them. */
import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { type Call, makeCalls } from '../../../lib/program/calls.ts';
import { ConfigurationError } from '../../../lib/program/environment/environment.ts';
import { AddressLimits } from '../../admit/limits/address-limits.ts';
import {
  type MakeSite,
  makeServingThread,
  type ProxyEnvironment,
  type ServingThread,
  type ThreadStart,
} from './serving-thread.ts';

/** What serves: a proxy, and perhaps a site beside it. The core knows neither the site nor the program. */
export interface Composition {
  /** Without it, only the API is served. */
  readonly makeSite?: MakeSite;
  /** Starts a program that calls `serveInWorker` with this, and with the same site. */
  readonly startWorker: (start: ThreadStart) => Worker;
}

/** Starts PROXY_THREADS threads. A single one is in this thread. */
export async function startServingThreads(
  environment: ProxyEnvironment,
  { makeSite, startWorker }: Composition,
  redisTimeoutMs: number | undefined,
  log: Logger,
) {
  const shared = {
    environment,
    addresses: new AddressLimits(environment.ADDRESS_RATE_LIMIT).memory,
    redisTimeoutMs,
  };
  const workers: Worker[] = [];

  async function start(data: ThreadStart): Promise<Call<ServingThread>> {
    if (environment.PROXY_THREADS === 1) {
      const thread = await makeServingThread(data, makeSite, log);
      const call = async (name: keyof ServingThread, argument: never) => thread[name](argument);
      return call as Call<ServingThread>;
    }
    const worker = startWorker(data);
    worker.on('error', (error) => {
      log.fatal({ err: error }, 'a worker thread failed');
      // The proxy must not continue with fewer threads.
      process.exit(1);
    });
    workers.push(worker);
    return makeCalls<ServingThread>(worker);
  }

  const calls = await Promise.all(
    Array.from({ length: environment.PROXY_THREADS }, (_, index) =>
      start({ ...shared, number: index + 1 }),
    ),
  );
  return {
    /** Calls a function of every thread. @returns their results */
    all: <Name extends keyof ServingThread>(
      name: Name,
      ...argument: Parameters<ServingThread[Name]>
    ) => Promise.all(calls.map((call) => call(name, ...argument))),
    /** @returns the address of all threads @throws ConfigurationError */
    async listen(): Promise<string> {
      const [leading, ...others] = calls;
      const { address, port } = await leading('listen', environment.PORT).catch((cause: Error) => {
        // The class of an error is lost between threads.
        throw new ConfigurationError(cause.message, { cause });
      });
      // The others share its port, which the system may have chosen.
      await Promise.all(others.map((call) => call('listen', port)));
      return `${address}:${port}`;
    },
    end: () => Promise.all(workers.map((worker) => worker.terminate())),
  };
}
