/**
 * What each serving thread has, the first one and every worker: the API's server and the
 * generations that it answers from.
 */
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { closeServer } from '../../program/close-server.ts';
import type { Environment } from '../../program/environment/environment.ts';
import { makeApi } from '../api/handler.ts';
import type { RequestCounts } from '../api/request-counts.ts';
import { makeServer } from '../http/server.ts';
import type { Keys } from '../keys/key-table.ts';
import type { AddressLimits } from '../limits/address-limits.ts';
import { withForwarding } from '../site/forward.ts';
import { makeSiteHandler } from '../site/site-handler.ts';
import type { ThreadGenerations } from '../snapshot/thread-generations.ts';

/** Requests still under way after this are cut. */
const STOP_DEADLINE_MS = 10_000;

/** What every serving thread reads from the environment. */
export const SERVING_VARIABLES = [
  'ADDRESS_RATE_LIMIT',
  'TRUSTED_PROXIES',
  'ACCOUNT_URL',
  'HTTP_FAST_PATH',
  'LOG_LEVEL',
] as const;

export interface ServingParts {
  readonly snapshots: ThreadGenerations;
  readonly keys: Keys;
  readonly addresses: AddressLimits;
  readonly environment: Environment<(typeof SERVING_VARIABLES)[number]>;
  readonly counts: RequestCounts;
  /** How many connections and forwarded requests the thread may have, and has. */
  readonly connections: Float64Array;
  readonly log: Logger;
}

export interface Serving {
  readonly server: Server;
  /** From now on each response tells its client that it is the last on its connection. */
  announceEnd(): void;
  /** Stops to listen; resolves when the requests under way have ended. */
  close(): Promise<void>;
}

export function makeServing(parts: ServingParts): Serving {
  const { log, connections } = parts;
  const {
    TRUSTED_PROXIES: trustedProxies,
    ACCOUNT_URL: accountUrl,
    HTTP_FAST_PATH: hasFastPath,
  } = parts.environment;
  const api = makeApi({ ...parts, trustedProxies, now });
  const site = withForwarding(makeSiteHandler(), { accountUrl, trustedProxies, connections, log });
  const http = makeServer(api, site, log, { connections, hasFastPath });
  const { server } = http;
  return {
    server,
    announceEnd: http.announceEnd,
    async close() {
      const close = (onClosed: () => void) => server.close(onClosed);
      await closeServer({ ...http, close }, STOP_DEADLINE_MS);
      // Generations stay open: the other threads may still read from them.
    },
  };
}

/** Threads start at different times; this sets their clocks to one that they share. */
const CLOCK_OFFSET_MS = (() => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6 - performance.now();
})();

export function now(): number {
  return CLOCK_OFFSET_MS + performance.now();
}
