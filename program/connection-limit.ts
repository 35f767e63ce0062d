/**
 * How many connections a process may hold open: what its limit on open files leaves after everything
 * else has its share. So a flood of connections does not keep it from opening what it needs. The
 * threads that serve share the connections evenly.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { allowConnections, countConnections } from './connections.ts';

/** Assumed on systems that do not say, which are all but Linux. */
const ASSUMED_LIMIT = 1_024;
const ASSUMED_IN_USE = 64;
/** Whatever the limit on open files: a connection takes memory, too. */
const MOST_CONNECTIONS = 16_384;
/** With fewer, a server would be useless: it takes this many, and logs that the limit is too low. */
const FEWEST_CONNECTIONS = 16;
/** For what any server opens briefly: files, name look-ups. */
export const SHORT_LIVED = 32;

const CHECK_MS = 1_000;
/** After this time without connections over the limit, the next one is reported again. */
const CALM_MS = 5_000;

/** How many descriptors the process may have, and has. */
export interface Descriptors {
  readonly limit: number;
  /** Other than the connections of clients. */
  readonly inUse: number;
}

/** How the limit is shared out. */
export interface Shares {
  readonly connections: number;
  /** Requests that may be forwarded at once. */
  readonly forwards: number;
  /** Whether the limit leaves less than the process needs. */
  readonly isTooLow: boolean;
}

/** Bounds what is left for connections. @param left may be negative */
export function shareOutConnections(left: number, forwards = 0): Shares {
  return {
    connections: Math.min(MOST_CONNECTIONS, Math.max(FEWEST_CONNECTIONS, left)),
    forwards,
    isTooLow: left < FEWEST_CONNECTIONS,
  };
}

export interface ConnectionLimit {
  /** Sets the limit, and adapts it every second to what else is open. */
  start(): void;
  /** How many connections there may be at the moment. */
  connections(): number;
}

/**
 * @param threads the cells of every thread that serves, of {@link countConnections}
 * @param shareOut what a process needs its descriptors for
 * @param log for warnings that connections are dropped, or that the limit is too low
 * @param alsoAssumed how many more are assumed to be in use on systems that do not say
 */
export function makeConnectionLimit(
  threads: readonly Float64Array[],
  shareOut: (files: Descriptors) => Shares,
  log: Logger,
  alsoAssumed: () => number = () => 0,
): ConnectionLimit {
  const limit = readLimit();
  const episode = makeEpisode(log);
  let connections = 0;
  let isWarned = false;

  function check(): void {
    const counts = countConnections(threads);
    const inUse = countDescriptors(counts.open) ?? ASSUMED_IN_USE + alsoAssumed();
    const shares = shareOut({ limit, inUse });
    connections = shares.connections;
    for (const cells of threads) {
      const ofThread = (all: number) => Math.max(1, Math.floor(all / threads.length));
      allowConnections(cells, ofThread(connections), ofThread(shares.forwards));
    }
    if (shares.isTooLow && !isWarned) {
      log.warn(
        { open_files: limit, in_use: inUse, connections },
        'the limit on open files is too low: raise it (ulimit -n, LimitNOFILE)',
      );
    }
    isWarned = shares.isTooLow;
    episode.note(counts.closed + counts.refused, { ...counts, limit: connections });
  }

  return {
    start() {
      check();
      setInterval(check, CHECK_MS).unref();
    },
    connections: () => connections,
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

/** How many descriptors are open, apart from the connections of clients; undefined: unknown. */
function countDescriptors(connections: number): number | undefined {
  try {
    return Math.max(0, readdirSync('/proc/self/fd').length - connections);
  } catch {
    return undefined;
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
