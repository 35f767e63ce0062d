/**
 * Keeps the open connections of one serving thread within its limit. When a new connection arrives at the
 * limit, the least recently used idle one is closed, so that a client that holds idle connections does not
 * keep others out. If every connection is busy, the new one is refused.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** The most connections, however high the limit on open files is: each connection takes memory. */
const MOST_CONNECTIONS = 16_384;
/** Assumed where there is no /proc, that is, on systems other than Linux. */
const ASSUMED_OPEN_FILES = 1_024;
/** How many connections are compared to choose one to close: a bound on the work for a new connection. */
const MOST_COMPARED = 64;
const WARN_EVERY_MS = 60_000;

// Indexes of the cells.
const MOST = 0;
const OPEN = 1;
const CLOSED = 2;
const REFUSED = 3;

/** The soft limit on open files. Node raises it to the hard limit when it starts. */
function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, limit = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
    return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit) || ASSUMED_OPEN_FILES;
  } catch {
    return ASSUMED_OPEN_FILES;
  }
}

/**
 * How many connections a process may have: half of its open files. The other half is for generations, the
 * database, forwarded requests and the admin address, so a flood of connections cannot keep the process
 * from opening files.
 */
export function mostConnections(openFiles = readOpenFilesLimit()): number {
  return Math.min(MOST_CONNECTIONS, Math.floor(openFiles / 2));
}

/**
 * Creates the numbers that a serving thread shares with the main thread: its limit on connections, and how
 * many it has open, has closed and has refused.
 * @param most how many connections the thread may have
 */
export function newConnectionCells(most = Number.POSITIVE_INFINITY): Float64Array {
  const cells = new Float64Array(new SharedArrayBuffer(4 * 8));
  cells[MOST] = most;
  return cells;
}

/**
 * Adds up the counts of all threads: connections that are open, idle ones that were closed to make room, new
 * ones that were refused, and the limit.
 */
export function countConnections(threads: readonly Float64Array[]) {
  const sum = (index: number) => threads.reduce((total, cells) => total + cells[index], 0);
  return { open: sum(OPEN), closed: sum(CLOSED), refused: sum(REFUSED), limit: sum(MOST) };
}

/**
 * Whether the response of a connection's last request is under way. While a client still sends the
 * request, the connection counts as idle.
 */
export function isAnswering(response: ServerResponse | undefined): boolean {
  return response?.req.complete === true && !response.writableFinished;
}

export interface Connections {
  /** Adds a new connection. @returns false if it was refused and closed */
  take(socket: Socket): boolean;
  /** Call it when a request arrives on a connection: a client also uses a connection when it opens it. */
  noteUse(socket: Socket): void;
}

/**
 * @param cells from {@link newConnectionCells}
 * @param isBusy whether the connection is in use now
 */
export function makeConnections(
  cells: Float64Array,
  log: Logger,
  isBusy: (socket: Socket) => boolean,
): Connections {
  /** The least recently used one comes first. */
  const open = new Set<Socket>();
  let warnedAt = Number.NEGATIVE_INFINITY;

  function noteUse(socket: Socket): void {
    if (open.delete(socket)) open.add(socket);
  }

  function forget(socket: Socket): void {
    open.delete(socket);
    cells[OPEN] = open.size;
  }

  /**
   * The least recently used idle connection or, if none is idle, the least recently used one whose client
   * does not read its response.
   */
  function findIdle(): Socket | undefined {
    let unread: Socket | undefined;
    let compared = 0;
    for (const socket of open) {
      if (compared++ === MOST_COMPARED) break;
      if (socket.writableLength > 0) unread ??= socket;
      else if (!isBusy(socket)) return socket;
      // At the end of the set, it is compared again only after all others.
      else noteUse(socket);
    }
    return unread;
  }

  function makeRoom(): boolean {
    if (performance.now() - warnedAt >= WARN_EVERY_MS) {
      warnedAt = performance.now();
      log.warn(
        countConnections([cells]),
        'too many connections: idle ones are closed to make room, or new ones refused; see "Connections" in OPERATIONS.md',
      );
    }
    const idle = findIdle();
    // `destroy` frees the descriptor at once. The event "close", which also calls `forget`, comes later.
    idle?.destroy();
    if (idle !== undefined) forget(idle);
    cells[idle === undefined ? REFUSED : CLOSED]++;
    return idle !== undefined;
  }

  return {
    take(socket) {
      if (open.size >= cells[MOST] && !makeRoom()) {
        socket.destroy();
        return false;
      }
      open.add(socket);
      cells[OPEN] = open.size;
      socket.once('close', () => forget(socket));
      return true;
    },
    noteUse,
  };
}
