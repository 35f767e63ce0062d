/**
 * Limits the open connections of a process to the file descriptors that remain after everything else
 * it needs is reserved. A flood of connections therefore cannot keep the process from opening files.
 * Each serving thread may have an equal share of the connections.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { allowConnections, countConnections } from './connections.ts';

/** Assumed where there is no /proc, that is, on systems other than Linux. */
const ASSUMED_LIMIT = 1_024;
const ASSUMED_IN_USE = 64;
/** The most connections, however high the limit on open files is: each connection takes memory. */
const MOST_CONNECTIONS = 16_384;
/**
 * A server with fewer is useless. If fewer descriptors are left, it still accepts this many and logs
 * a warning.
 */
const FEWEST_CONNECTIONS = 16;
/** Reserved for what a server opens briefly: files, name look-ups. */
export const SHORT_LIVED = 32;

const CHECK_MS = 1_000;
/**
 * An episode of too many connections is over when no connection has been dropped for this long. The
 * next dropped connection starts another one.
 */
const CALM_MS = 5_000;

/** The file descriptors of the process. */
export interface Descriptors {
  /** How many may be open. */
  readonly limit: number;
  /** How many are open, without the connections of clients. */
  readonly inUse: number;
}

/** How the descriptors are divided. */
export interface Shares {
  readonly connections: number;
  /** How many requests may be forwarded at the same time. */
  readonly forwards: number;
  /** Whether the limit on open files is too low for {@link FEWEST_CONNECTIONS}. */
  readonly isTooLow: boolean;
}

/**
 * Limits the number of connections to between {@link FEWEST_CONNECTIONS} and {@link MOST_CONNECTIONS}.
 * @param left the descriptors that are left for connections; may be negative
 */
export function shareOutConnections(left: number, forwards = 0): Shares {
  return {
    connections: Math.min(MOST_CONNECTIONS, Math.max(FEWEST_CONNECTIONS, left)),
    forwards,
    isTooLow: left < FEWEST_CONNECTIONS,
  };
}

export interface ConnectionLimit {
  /** Sets the limit, and updates it every second: it depends on what else the process has open. */
  start(): void;
  stop(): void;
  /** The current limit. */
  connections(): number;
}

/**
 * @param threads the cells of every serving thread, made by `newConnectionCells`
 * @param shareOut divides the descriptors of the process
 * @param log gets a warning when connections are dropped or the limit on open files is too low
 * @param assumedMore how many descriptors to add to {@link ASSUMED_IN_USE} where there is no /proc
 */
export function makeConnectionLimit(
  threads: readonly Float64Array[],
  shareOut: (files: Descriptors) => Shares,
  log: Logger,
  assumedMore: () => number = () => 0,
): ConnectionLimit {
  const limit = readLimit();
  const episode = makeEpisode(log);
  let connections = 0;
  let isWarned = false;
  let timer: NodeJS.Timeout | undefined;

  function check(): void {
    const counts = countConnections(threads);
    const inUse = countDescriptors(counts.open) ?? ASSUMED_IN_USE + assumedMore();
    const shares = shareOut({ limit, inUse });
    connections = shares.connections;
    for (const cells of threads) {
      const shareOf = (all: number) => Math.max(1, Math.floor(all / threads.length));
      allowConnections(cells, shareOf(connections), shareOf(shares.forwards));
    }
    if (shares.isTooLow && !isWarned) {
      log.warn(
        { open_files_limit: limit, in_use: inUse, connections },
        'the limit on open files is too low: raise it (ulimit -n, LimitNOFILE)',
      );
    }
    isWarned = shares.isTooLow;
    episode.note(counts.closed + counts.refused, { ...counts, limit: connections });
  }

  return {
    start() {
      check();
      timer = setInterval(check, CHECK_MS).unref();
    },
    stop: () => clearInterval(timer),
    connections: () => connections,
  };
}

/** The soft limit on open files. Node raises it to the hard limit when it starts. */
export function readLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, limit = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
    if (limit === 'unlimited') return Number.POSITIVE_INFINITY;
    return Number(limit) || ASSUMED_LIMIT;
  } catch {
    return ASSUMED_LIMIT;
  }
}

/**
 * Counts the open descriptors that are not connections of clients.
 * @param connections how many connections of clients are open
 * @returns undefined where there is no /proc
 */
function countDescriptors(connections: number): number | undefined {
  try {
    return Math.max(0, readdirSync('/proc/self/fd').length - connections);
  } catch {
    return undefined;
  }
}

/** Logs when an episode of too many connections begins, and when it is over. */
function makeEpisode(log: Logger) {
  let lastDropped = 0;
  let startedAt: number | undefined;
  let lastDropAt = 0;
  let droppedBefore = 0;

  return {
    /** @param dropped connections closed or refused since the start of the process */
    note(dropped: number, counts: object): void {
      const now = performance.now();
      if (dropped > lastDropped) {
        if (startedAt === undefined) {
          startedAt = now;
          droppedBefore = lastDropped;
          log.warn(
            counts,
            'too many connections: idle ones are closed to make room, or new ones refused; see "Connections" in OPERATIONS.md',
          );
        }
        lastDropAt = now;
      } else if (startedAt !== undefined && now - lastDropAt >= CALM_MS) {
        const seconds = Math.round((lastDropAt - startedAt) / 1000);
        log.info(
          { ...counts, dropped: dropped - droppedBefore, seconds },
          'connections are within the limit again',
        );
        startedAt = undefined;
      }
      lastDropped = dropped;
    },
  };
}
