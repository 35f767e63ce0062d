/**
 * `cover-catalogue proxy`: serves the current generation on HOST:PORT until SIGTERM or SIGINT. The
 * proxy never connects to the database: all its data comes from files in `SNAPSHOTS_DIR`.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { readArguments } from '../lib/program/arguments.ts';
import { type Environment, readEnvironment } from '../lib/program/environment/environment.ts';
import { makeCommand } from '../lib/program/failure.ts';
import { checkReadableFolder } from '../lib/program/folders.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { makeLog } from '../lib/program/log.ts';
import { reportReady, stopWith } from '../lib/program/service.ts';
import { assembleProxy } from '../proxy/assemble.ts';
import { SERVING_VARIABLES } from '../proxy/serve/workers/serving-thread.ts';
import type { Composition } from '../proxy/serve/workers/serving-threads.ts';
import { makeSite, prepareSite, SITE_CHECKS, SITE_VARIABLES } from '../site/site.ts';
import type { ServingThreadData } from './serving-thread.ts';

const USAGE = `cover-catalogue proxy

Serves the API on HOST:PORT from the current generation in SNAPSHOTS_DIR, and
health checks and metrics on ADMIN_HOST:ADMIN_PORT, until SIGTERM or SIGINT.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;

export const PROXY_VARIABLES = [...SERVING_VARIABLES, ...SITE_VARIABLES] as const;

/** The proxy with its site, in this thread or in others (`serving-thread.ts`). */
export function compose(environment: Environment<(typeof PROXY_VARIABLES)[number]>): Composition {
  const site = prepareSite(environment);
  return {
    makeSite: (parts) => makeSite(site, parts),
    startWorker(start) {
      const workerData: ServingThreadData = { start, site };
      return new Worker(new URL('./serving-thread.ts', import.meta.url), { workerData });
    },
  };
}

/** @returns the exit code if it cannot start; undefined if it serves */
export const runProxy = makeCommand(serve, 'The proxy cannot start: ');

async function serve({ words, variables: readVariables }: Invocation): Promise<undefined> {
  readArguments(USAGE, words);
  const variables = readVariables();
  const environment = readEnvironment(PROXY_VARIABLES, variables, {
    ...SITE_CHECKS,
    SNAPSHOTS_DIR: checkReadableFolder,
  });
  const log = makeLog(environment.LOG_LEVEL);
  if (!existsSync(environment.SNAPSHOTS_DIR)) {
    log.warn(
      { SNAPSHOTS_DIR: path.resolve(environment.SNAPSHOTS_DIR) },
      'SNAPSHOTS_DIR does not exist: requests get 503 until the generator creates it; correct the path if it is wrong',
    );
  }
  if ((variables.PUBLIC_URL ?? '') === '') {
    log.warn(
      { PUBLIC_URL: environment.PUBLIC_URL },
      'PUBLIC_URL is not set: the Link header and /openapi.json contain an address that only this machine can reach; set it to the address of the API',
    );
  }
  const proxy = await assembleProxy(environment, log, compose(environment));
  // Before listening: clients may connect at once, and a signal must not cut off their requests.
  stopWith(async (signal) => {
    log.info({ signal }, 'stopping');
    await proxy.stop();
    log.info('stopped');
  });
  const addresses = await proxy.start();
  if (proxy.isStopping()) return;
  // Logged last: a supervisor that reads this line may send a signal at once.
  log.info({ ...addresses, threads: environment.PROXY_THREADS }, 'listening');
  reportReady(log);
}
