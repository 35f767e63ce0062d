/**
 * The public HTTP server of one serving thread, connected to the API and the site. The first thread and
 * every worker have one each.
 */
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import type { Environment } from '../../program/environment/environment.ts';
import { closeServer } from '../../program/listen.ts';
import { makeAccessLog } from '../access-log/access-log.ts';
import { type HandOn, makeThreadLines } from '../access-log/thread-lines.ts';
import { makeApi } from '../api/handler.ts';
import type { RequestCounts } from '../api/request-counts.ts';
import type { ReadChanges } from '../changes/changes.ts';
import { makeVisitorLimits, withExplorer } from '../explore/explorer.ts';
import { makeServer } from '../http/server.ts';
import type { Keys, KeyTable } from '../keys/key-table.ts';
import { followDays } from '../keys/use-counts.ts';
import type { AddressLimits } from '../limits/address-limits.ts';
import {
  type ConnectToStore,
  type OpenSharedLimits,
  openSharedLimits,
} from '../limits/shared/open-shared-limits.ts';
import { makeOwnWindows } from '../limits/shared/own-windows.ts';
import type { StoreTimeouts } from '../limits/shared/store.ts';
import { withForwarding } from '../site/forward.ts';
import type { SitePages } from '../site/site.ts';
import { makeSiteHandler } from '../site/site-handler.ts';
import type { ThreadGeneration } from '../snapshot/thread-generation.ts';

/** When the proxy stops, requests that are still under way after this are cut off. */
const STOP_DEADLINE_MS = 10_000;

/** The variables that every serving thread reads from the environment. */
export const SERVING_VARIABLES = [
  'ADDRESS_RATE_LIMIT',
  'LIMITS_URL',
  'LIMITS_FAILURE',
  'TRUSTED_PROXIES',
  'ACCOUNT_URL',
  'PUBLIC_URL',
  'EXPLORER_KEY',
  'SNAPSHOTS_DIR',
  'SNAPSHOT_DOWNLOADS',
  'ACCESS_LOG',
  'LOG_LEVEL',
] as const;

/** How this proxy appears in the fleet. All threads have the same, except for the counts. */
export interface FleetIdentity {
  /** The name of this process in the fleet. */
  readonly proxy: string;
  /** The thread's counts, from `newLimitCells`. */
  readonly limitCells: Float64Array;
  readonly storeTimeouts?: StoreTimeouts | undefined;
}

export interface ServingParts extends FleetIdentity {
  /** From `loadStoreClient`. */
  readonly connectToStore: ConnectToStore | undefined;
  readonly snapshots: Pick<ThreadGeneration, 'current'>;
  readonly readChanges: ReadChanges;
  readonly keys: Keys & Pick<KeyTable, 'all' | 'byHash'>;
  readonly addresses: AddressLimits;
  /** The memory of the limits from `makeVisitorLimits`. */
  readonly visitors: SharedArrayBuffer;
  readonly environment: Environment<(typeof SERVING_VARIABLES)[number]>;
  readonly counts: RequestCounts;
  /** The thread's limit and counts of connections, from `newConnectionCells`. */
  readonly connections: Float64Array;
  /** From `newMaintenanceCell`. */
  readonly maintenance: Int32Array;
  /** From `openSite`. */
  readonly sitePages: SitePages;
  /** Writes the batches of the access log. */
  readonly handOnLines: HandOn;
  /** From `newDropCount`. */
  readonly droppedLines: Float64Array;
  readonly log: Logger;
}

export interface Serving {
  readonly server: Server;
  /** Undefined if the limits are those of this process. */
  readonly limits: OpenSharedLimits | undefined;
  /** From now on, each response tells its client that the connection will be closed after it. */
  announceEnd(): void;
  /** Stops listening; resolves when the requests under way have ended, and are reported and logged. */
  close(): Promise<void>;
}

export function makeServing(parts: ServingParts): Serving {
  const { log, connections } = parts;
  const limits = openLimits(parts);
  followDays();
  const {
    TRUSTED_PROXIES: trustedProxies,
    ACCOUNT_URL: accountUrl,
    PUBLIC_URL: publicUrl,
    EXPLORER_KEY: explorerKey,
    SNAPSHOTS_DIR: snapshotsDir,
    SNAPSHOT_DOWNLOADS: hasDownloads,
    ACCESS_LOG: sample,
  } = parts.environment;
  const lines = makeThreadLines(parts.handOnLines, parts.droppedLines);
  const api = makeApi({
    ...parts,
    publicUrl,
    hasDownloads,
    trustedProxies,
    now,
    askLimits: limits?.ask,
    logAccess: sample === 0 ? undefined : makeAccessLog(sample, trustedProxies, lines.add),
  });
  const { snapshots, keys, maintenance, sitePages: pages } = parts;
  const { current } = snapshots;
  const own = makeSiteHandler({ pages, keys, snapshotsDir, current, maintenance, log });
  const explored = withExplorer(own, {
    api,
    snapshots,
    explorerKey,
    explorerLimit: () => keys.find(explorerKey)?.limit,
    visitors: makeVisitorLimits(parts.visitors),
    trustedProxies,
    now,
    publicUrl,
    log,
  });
  const site = withForwarding(explored, {
    accountUrl,
    trustedProxies,
    log,
  });
  const http = makeServer(api, site, log, { connections });
  const { server } = http;
  return {
    server,
    limits,
    announceEnd: http.announceEnd,
    async close() {
      const close = (onClosed: () => void) => server.close(onClosed);
      await closeServer({ ...http, close }, STOP_DEADLINE_MS);
      await limits?.stop();
      await lines.finish();
      // Generations stay open: the other threads may still read from them.
    },
  };
}

function openLimits(parts: ServingParts): OpenSharedLimits | undefined {
  const { connectToStore: connect, proxy, limitCells: cells, storeTimeouts: timeouts, log } = parts;
  if (connect === undefined) return undefined;
  const { LIMITS_FAILURE: failure } = parts.environment;
  const windows = makeOwnWindows(parts.keys.all, parts.addresses);
  return openSharedLimits({ connect, failure, proxy, windows, cells, now, log, timeouts });
}

/** `performance.now()` counts from the start of its thread. Adding this makes all threads agree. */
const CLOCK_OFFSET_MS = (() => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6 - performance.now();
})();

/** A monotonic clock in milliseconds that all threads and processes share. */
export function now(): number {
  return CLOCK_OFFSET_MS + performance.now();
}
