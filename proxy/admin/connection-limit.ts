/**
 * How many connections the proxy may hold open, so that descriptors remain for generations, keys, the
 * admin address and requests that it forwards.
 */
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import {
  type Descriptors,
  makeConnectionLimit,
  SHORT_LIVED,
  type Shares,
  shareOutConnections,
} from '../../program/connection-limit.ts';
import { countConnections } from '../../program/connections.ts';

/** Connections on the admin address. */
export const ADMIN_CONNECTIONS = 16;
/** For a generation that is opened beside the others: two packs of each platform. */
const PACKS_OF_PLATFORM = 2;
const FEWEST_PACKS = 16;
/** Forwarded requests, each on a connection of its own: a share of what is left, within bounds. */
const FORWARD_SHARE = 0.25;
const FEWEST_FORWARDS = 4;
const MOST_FORWARDS = 64;

/** @param platforms of the current generation */
export function shareOut(
  { limit, inUse }: Descriptors,
  platforms: number,
  isForwarding: boolean,
): Shares {
  const packs = Math.max(FEWEST_PACKS, PACKS_OF_PLATFORM * platforms);
  const left = limit - inUse - ADMIN_CONNECTIONS - SHORT_LIVED - packs;
  const share = Math.floor(left * FORWARD_SHARE);
  const forwards = isForwarding ? Math.min(MOST_FORWARDS, Math.max(FEWEST_FORWARDS, share)) : 0;
  return shareOutConnections(left - forwards, forwards);
}

export interface ProxyLimit {
  /** Sets the limit, and adapts it every second to what else is open. */
  start(): void;
  /** Sets how many platforms the current generation has. */
  setPlatforms(platforms: number): void;
}

/**
 * @param threads the cells of every serving thread, of {@link countConnections}
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
    // The packs of two generations, as while one replaces the other.
    () => 2 * PACKS_OF_PLATFORM * platforms,
  );
  addMetrics(registry, threads, limit.connections);
  return {
    start: limit.start,
    setPlatforms(count) {
      platforms = count;
    },
  };
}

function addMetrics(
  registry: Registry,
  threads: readonly Float64Array[],
  limit: () => number,
): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('api_connections', 'Connections open', () => countConnections(threads).open);
  gauge('api_connections_limit', 'Connections that may be open', limit);
  new Counter({
    name: 'api_connections_dropped_total',
    help: 'Connections over the limit: unused ones that were closed, new ones that were refused',
    labelNames: ['which'] as const,
    registers,
    collect() {
      const { closed, refused } = countConnections(threads);
      this.reset();
      this.inc({ which: 'unused' }, closed);
      this.inc({ which: 'new' }, refused);
    },
  });
}
