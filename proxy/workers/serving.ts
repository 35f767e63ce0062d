/**
 * One serving thread: the API's server and the generations that it answers from. The first thread
 * of a proxy has one, and so has each of its peers.
 */
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { closeServer } from '../../program/close-server.ts';
import type { RequestCounts } from '../admin/metrics.ts';
import { makeApi } from '../http/handle.ts';
import { makeServer } from '../http/server.ts';
import type { Keys } from '../keys/key-table.ts';
import type { AddressLimits } from '../limits/address-limits.ts';
import { withForwarding } from '../site/forward.ts';
import { makeSiteHandler } from '../site/site-handler.ts';
import type { ThreadGenerations } from '../snapshot/thread-generations.ts';

/** Requests still under way after this are cut. */
const STOP_DEADLINE_MS = 10_000;

export interface ServingParts {
  readonly snapshots: ThreadGenerations;
  readonly keys: Keys;
  readonly addresses: AddressLimits;
  readonly trustedProxies: Parameters<typeof makeApi>[0]['trustedProxies'];
  /** Where the account pages listen; empty: there are none. */
  readonly accountUrl: string;
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
  const { log } = parts;
  const api = makeApi({ ...parts, now });
  const site = withForwarding(makeSiteHandler(), parts);
  const http = makeServer(api, site, log, undefined, parts.connections);
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

/** Threads began at different times; their clocks are set to the one that they share. */
const CLOCK_OFFSET_MS = (() => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6 - performance.now();
})();

export function now(): number {
  return CLOCK_OFFSET_MS + performance.now();
}
