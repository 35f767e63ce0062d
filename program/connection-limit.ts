/**
 * Limits how many connections a process holds open: to what its limit on open files leaves after
 * everything else has its share. A flood of connections therefore cannot keep the process from
 * opening files. The serving threads share the connections evenly.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { allowConnections, countConnections } from './connections.ts';

/** Assumed on systems without /proc, that is, on all but Linux. */
const ASSUMED_LIMIT = 1_024;
const ASSUMED_IN_USE = 64;
/** An upper bound for any limit on open files, because a connection also takes memory. */
const MOST_CONNECTIONS = 16_384;
/** A server is useless with fewer. It accepts this many and logs that the limit is too low. */
const FEWEST_CONNECTIONS = 16;
/** Reserved for what a server opens briefly: files, name look-ups. */
export const SHORT_LIVED = 32;

const CHECK_MS = 1_000;
/** After this time within the limit, the next connection over it is reported again. */
const CALM_MS = 5_000;

/** The file descriptors of the process. */
export interface Descriptors {
  readonly limit: number;
  /** Without the connections of clients. */
  readonly inUse: number;
}

/** How the descriptors are divided. */
export interface Shares {
  readonly connections: number;
  /** How many requests may be forwarded at the same time. */
  readonly forwards: number;
  /** Whether the limit leaves less than the process needs. */
  readonly isTooLow: boolean;
}

/** Keeps the connections between the bounds. @param left descriptors left for them; may be negative */
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
  /** The current limit. */
  connections(): number;
}

/**
 * @param threads the cells of every serving thread, made by `newConnectionCells`
 * @param shareOut divides the descriptors of the process
 * @param log for warnings that connections are dropped, or that the limit is too low
 * @param alsoAssumed further descriptors assumed to be in use on systems without /proc
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

/** The soft limit on open files, which Node raises to the hard limit at its start. */
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

/** Counts the open descriptors without the connections of clients; undefined if unknown. */
function countDescriptors(connections: number): number | undefined {
  try {
    return Math.max(0, readdirSync('/proc/self/fd').length - connections);
  } catch {
    return undefined;
  }
}

/** Logs once when connections begin to be closed or refused, and once when that is over. */
function makeEpisode(log: Logger) {
  let total = 0;
  let startedAt: number | undefined;
  let lastAt = 0;
  let before = 0;

  return {
    /** @param dropped connections closed or refused since the start of the process */
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
