/**
 * A thread that serves: its public HTTP server, with the API and the site. All serving threads listen on
 * one port. Limits, counts and the files of generations are in memory that they share. The first thread
 * gives them keys and generations. With PROXY_THREADS=1, it serves itself.
 */
import type { AddressInfo, BlockList } from 'node:net';
import { parentPort } from 'node:worker_threads';
import type { Logger } from 'pino';
import { makeCalls } from '../../../lib/program/calls.ts';
import { mostConnections, newConnectionCells } from '../../../lib/program/connections.ts';
import type { Environment } from '../../../lib/program/environment/environment.ts';
import { closeServer, listen } from '../../../lib/program/listen.ts';
import { makeLog } from '../../../lib/program/log.ts';
import { type KeyTable, makeKeyTable, type SharedKey } from '../../admit/keys/key-table.ts';
import { AddressLimits } from '../../admit/limits/address-limits.ts';
import { makeRedisLimiter, newLimitCounts } from '../../admit/limits/redis-limiter.ts';
import { now, takeLocally } from '../../admit/limits/rolling-window.ts';
import { Api } from '../../api/handler.ts';
import { makeRequestCounts, newRequestCounts } from '../../api/request-counts.ts';
import { toResponder } from '../../http/node-response.ts';
import { type ApiHandler, prepareError } from '../../http/response.ts';
import { HttpServer, type SiteHandler } from '../../http/server.ts';
import { type CurrentGeneration, makeGeneration } from '../../snapshot/generation.ts';
import { type OpenedFiles, reportMemory } from '../../snapshot/open-files.ts';

/** When the proxy stops, requests that are still under way after this are cut off. */
const STOP_DEADLINE_MS = 10_000;

export const SERVING_VARIABLES = [
  'HOST',
  'PORT',
  'PROXY_THREADS',
  'ADMIN_HOST',
  'ADMIN_PORT',
  'ADDRESS_RATE_LIMIT',
  'LIMITS_URL',
  'LIMITS_FAILURE',
  'TRUSTED_PROXIES',
  'PUBLIC_URL',
  'SNAPSHOTS_DIR',
  'SNAPSHOT_DOWNLOADS',
  'LOG_LEVEL',
] as const;
export type ProxyEnvironment = Environment<(typeof SERVING_VARIABLES)[number]>;

/** Makes what a thread serves outside the base path of the API. */
export type MakeSite = (parts: SiteParts) => SiteHandler;

/** What a serving thread gives its site. */
export interface SiteParts {
  /** Answers requests of the site to the API, which count like any other. */
  readonly api: ApiHandler;
  readonly current: CurrentGeneration;
  readonly keys: Pick<KeyTable, 'find' | 'byHash'>;
  readonly trustedProxies: BlockList;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
}

const NOT_FOUND = prepareError(404, 'Not found');
/** A proxy without a site finds nothing outside the base. */
const NO_SITE: SiteHandler = (_request, response) => toResponder(response).send(NOT_FOUND);

/** What a thread is started with. */
export interface ThreadStart {
  readonly environment: ProxyEnvironment;
  /** The first serving thread is 1. */
  readonly number: number;
  /** The limits of addresses, which all threads share. */
  readonly addresses: SharedArrayBuffer;
  /** How long Redis may take to answer; by default as in production. */
  readonly redisTimeoutMs: number | undefined;
}

/** What one thread counts, in memory that the first thread reads for the metrics. */
export interface ThreadCounts {
  readonly requests: Float64Array;
  readonly limits: Float64Array;
  readonly connections: Float64Array;
}

/** What the first thread asks of a serving thread. */
export type ServingThread = {
  counts(): ThreadCounts;
  /** @param port 0 for one that is free @throws ConfigurationError */
  listen(port: number): Promise<AddressInfo>;
  /** Replaces all keys. */
  setKeys(keys: readonly SharedKey[]): void;
  takeUsage: KeyTable['takeUsage'];
  /** @param seconds for `Retry-After` during maintenance, otherwise 0 */
  setMaintenance(seconds: number): void;
  /** From now on, answers from these files, and no longer uses those of the generation before. */
  serve(files: OpenedFiles): void;
  /** From now on, each response tells its client that the connection will be closed after it. */
  announceEnd(): void;
  /** Stops listening. Resolves when the requests under way have ended, and are counted. */
  close(): Promise<void>;
};

export async function makeServingThread(
  start: ThreadStart,
  makeSite: MakeSite | undefined,
  log: Logger,
): Promise<ServingThread> {
  const { environment } = start;
  const {
    HOST: host,
    PROXY_THREADS: threads,
    TRUSTED_PROXIES: trustedProxies,
    PUBLIC_URL: publicUrl,
    LIMITS_URL: address,
    LIMITS_FAILURE: failure,
  } = environment;
  const counts: ThreadCounts = {
    requests: newRequestCounts(),
    limits: newLimitCounts(),
    connections: newConnectionCells(Math.floor(mostConnections() / threads)),
  };
  const redis =
    address &&
    (await makeRedisLimiter({
      address,
      failure,
      counts: counts.limits,
      now,
      log,
      timeoutMs: start.redisTimeoutMs,
    }));
  const keys = makeKeyTable();
  const api = new Api({
    keys,
    addresses: new AddressLimits(environment.ADDRESS_RATE_LIMIT, start.addresses),
    limiter: redis ?? { take: takeLocally },
    trustedProxies,
    publicUrl,
    hasDownloads: environment.SNAPSHOT_DOWNLOADS,
    counts: makeRequestCounts(counts.requests),
    now,
    log,
  });
  const { handle, current } = api;
  const parts = { api: handle, current, keys, trustedProxies, now, log };
  const site = makeSite?.(parts) ?? NO_SITE;
  const http = new HttpServer(handle, site, log, { connections: counts.connections });
  const { server } = http;
  return {
    counts: () => counts,
    async listen(port) {
      await redis?.start();
      await listen({ server, host, port, variables: ['HOST', 'PORT'], reusePort: threads > 1 });
      return server.address() as AddressInfo;
    },
    setKeys: keys.replace,
    takeUsage: keys.takeUsage,
    setMaintenance: (seconds) => api.setMaintenance(seconds),
    serve(files) {
      api.serve(makeGeneration(files));
      reportMemory(files);
    },
    announceEnd: () => http.announceEnd(),
    async close() {
      await closeServer(http, STOP_DEADLINE_MS);
      redis?.stop();
      // Generations stay open: the other threads may still read from them.
    },
  };
}

/** The whole of a program that a {@link Composition} starts: serves in this worker thread. */
export function serveInWorker(start: ThreadStart, makeSite?: MakeSite): void {
  if (parentPort === null) throw new Error('A serving thread can only run as a worker thread.');
  const log = makeLog(start.environment.LOG_LEVEL, { thread: start.number });
  makeCalls(parentPort, makeServingThread(start, makeSite, log));
}
