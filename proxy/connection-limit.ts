/**
 * How many connections the process may hold open: what its limit on open files leaves after
 * everything else has its share. So a flood of connections cannot keep the proxy from opening a
 * generation, reading the keys or answering on the admin address. The serving threads share the
 * connections evenly.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { allowConnections, countConnections } from './http/connections.ts';

/** Assumed on systems that do not say, which are all but Linux. */
const ASSUMED_LIMIT = 1_024;
const ASSUMED_IN_USE = 64;
/** Whatever the limit on open files: a connection takes memory, too. */
const MOST_CONNECTIONS = 16_384;
/** With fewer, the proxy would be useless: it takes this many, and logs that the limit is too low. */
const FEWEST_CONNECTIONS = 16;

/** Connections on the admin address. */
export const ADMIN_CONNECTIONS = 16;
/** For what is open briefly: the thread that opens a generation, files, name look-ups. */
const SHORT_LIVED = 32;
/** For a generation that is opened beside the others: two packs of each platform. */
const PACKS_OF_PLATFORM = 2;
const FEWEST_PACKS = 16;
/** Forwarded requests, each on a connection of its own: a share of what is left, within bounds. */
const FORWARD_SHARE = 0.25;
const FEWEST_FORWARDS = 4;
const MOST_FORWARDS = 64;

const CHECK_MS = 1_000;
/** After this time without connections over the limit, the next one is reported again. */
const CALM_MS = 5_000;

/** How many descriptors the process may have, and has. */
interface Descriptors {
  readonly limit: number;
  /** Other than the connections of clients. */
  readonly inUse: number;
}

/** How the limit is shared out. */
export interface Shares {
  readonly connections: number;
  /** Requests that may be forwarded at once. */
  readonly forwards: number;
  /** Whether the limit leaves less than the proxy needs. */
  readonly isTooLow: boolean;
}

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
  const connections = left - forwards;
  return {
    connections: Math.min(MOST_CONNECTIONS, Math.max(FEWEST_CONNECTIONS, connections)),
    forwards,
    isTooLow: connections < FEWEST_CONNECTIONS,
  };
}

export interface ConnectionLimit {
  /** Sets the limit, and adapts it every second to what else is open. */
  start(): void;
  /** Sets how many platforms the current generation has. */
  setPlatforms(platforms: number): void;
}

/**
 * @param threads the cells of every serving thread, of {@link countConnections}
 * @param isForwarding whether requests are forwarded to the account pages
 */
export function makeConnectionLimit(
  threads: readonly Float64Array[],
  isForwarding: boolean,
  registry: Registry,
  log: Logger,
): ConnectionLimit {
  const limit = readLimit();
  const episode = makeEpisode(log);
  let platforms = 0;
  let connections = 0;
  let isWarned = false;

  function check(): void {
    const counts = countConnections(threads);
    const inUse = countDescriptors(platforms, counts.open);
    const shares = shareOut({ limit, inUse }, platforms, isForwarding);
    connections = shares.connections;
    for (const cells of threads) {
      const ofThread = (all: number) => Math.max(1, Math.floor(all / threads.length));
      allowConnections(cells, ofThread(connections), ofThread(shares.forwards));
    }
    if (shares.isTooLow && !isWarned) {
      log.warn(
        { open_files: limit, in_use: inUse, connections },
        'the limit on open files is too low for this catalogue: raise it (ulimit -n, LimitNOFILE)',
      );
    }
    isWarned = shares.isTooLow;
    episode.note(counts.closed + counts.refused, { ...counts, limit: connections });
  }

  addMetrics(registry, threads, () => connections);
  return {
    start() {
      check();
      setInterval(check, CHECK_MS).unref();
    },
    setPlatforms(count) {
      platforms = count;
    },
  };
}

/** The soft limit, which Node raised to the hard limit when it started. */
function readLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, limit = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
    if (limit === 'unlimited') return Number.POSITIVE_INFINITY;
    return Number(limit) || ASSUMED_LIMIT;
  } catch {
    return ASSUMED_LIMIT;
  }
}

/** How many descriptors are open, apart from the connections of clients. */
function countDescriptors(platforms: number, connections: number): number {
  try {
    return Math.max(0, readdirSync('/proc/self/fd').length - connections);
  } catch {
    // With the packs of two generations, as while one replaces the other.
    return ASSUMED_IN_USE + 2 * PACKS_OF_PLATFORM * platforms;
  }
}

/** Reports when connections begin to be closed or refused, and when that is over: once each. */
function makeEpisode(log: Logger) {
  let total = 0;
  let startedAt: number | undefined;
  let lastAt = 0;
  let before = 0;

  return {
    /** @param dropped how many have been closed or refused since the start of the process */
    note(dropped: number, counts: object): void {
      const now = performance.now();
      if (dropped > total) {
        if (startedAt === undefined) {
          startedAt = now;
          before = total;
          log.warn(
            counts,
            'too many connections: unused ones are closed to make room, see "Connections" in OPERATIONS.md',
          );
        }
        lastAt = now;
      } else if (startedAt !== undefined && now - lastAt >= CALM_MS) {
        const seconds = Math.round((lastAt - startedAt) / 1000);
        log.info(
          { ...counts, dropped: dropped - before, seconds },
          'connections are within the limit again',
        );
        startedAt = undefined;
      }
      total = dropped;
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
