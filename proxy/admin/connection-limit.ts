/**
 * Limits the open connections of the proxy, so that enough file descriptors remain for generations,
 * keys, the admin address and forwarded requests.
 */
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { ADMIN_CONNECTIONS } from '../../program/admin/admin-server.ts';
import { addConnectionMetrics } from '../../program/admin/connection-metrics.ts';
import {
  type Descriptors,
  makeConnectionLimit,
  SHORT_LIVED,
  type Shares,
  shareOutConnections,
} from '../../program/connection-limit.ts';

/** Each platform has two packs, games and covers. A generation that is being opened needs them all. */
const PACKS_PER_PLATFORM = 2;
const FEWEST_PACKS = 16;
/**
 * Each forwarded request has a connection of its own to the account pages. Forwarding gets this share
 * of the remaining descriptors, within the two bounds below it.
 */
const FORWARD_SHARE = 0.25;
const FEWEST_FORWARDS = 4;
const MOST_FORWARDS = 64;

/**
 * Divides the file descriptors that remain between connections and forwarded requests.
 * @param platforms how many platforms the current generation has
 */
export function shareOut(
  { limit, inUse }: Descriptors,
  platforms: number,
  isForwarding: boolean,
): Shares {
  const packs = Math.max(FEWEST_PACKS, PACKS_PER_PLATFORM * platforms);
  const left = limit - inUse - ADMIN_CONNECTIONS - SHORT_LIVED - packs;
  const share = Math.floor(left * FORWARD_SHARE);
  const forwards = isForwarding ? Math.min(MOST_FORWARDS, Math.max(FEWEST_FORWARDS, share)) : 0;
  return shareOutConnections(left - forwards, forwards);
}

export interface ProxyLimit {
  /** Sets the limit, then adapts it every second to the number of other open files. */
  start(): void;
  stop(): void;
  /** Sets how many platforms the current generation has. */
  setPlatforms(platforms: number): void;
}

/**
 * @param threads the connection cells of every serving thread
 * @param isForwarding whether requests are forwarded to the account pages
 */
export function makeProxyLimit(
  threads: readonly Float64Array[],
  isForwarding: boolean,
  registry: Registry,
  log: Logger,
): ProxyLimit {
  let platforms = 0;
  const limit = makeConnectionLimit(
    threads,
    (files) => shareOut(files, platforms, isForwarding),
    log,
    // While one generation replaces another, the packs of both are open.
    () => 2 * PACKS_PER_PLATFORM * platforms,
  );
  addConnectionMetrics(registry, 'api', threads, limit.connections);
  return {
    start: limit.start,
    stop: limit.stop,
    setPlatforms(count) {
      platforms = count;
    },
  };
}
