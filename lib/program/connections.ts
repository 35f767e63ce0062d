/**
 * Keeps the open connections of one serving thread within its limit. At the limit, a new connection takes the
 * place of the one that has been idle for the longest time, so that clients that hold idle connections keep
 * nobody out. If none is idle, the new one is refused.
 *
 * A connection is idle unless a whole request has arrived whose response is not sent yet. Time limits end
 * connections whose clients do not read.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** The most connections, however high the limit on open files is: each connection takes memory. */
const MOST_CONNECTIONS = 16_384;
/** Assumed where there is no /proc, that is, on systems other than Linux. */
const ASSUMED_OPEN_FILES = 1_024;
const WARN_EVERY_MS = 60_000;

/** What a public server allows a client: options of Node's HTTP server. */
export const CLIENT_LIMITS = {
  /** For the request line and the header fields together, in bytes. */
  maxHeaderSize: 16 * 1024,
  /** For the head of a request; in the proxy, also for the first byte of a connection. */
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  /** How often Node looks for requests that take too long. */
  connectionsCheckingInterval: 2_000,
  // Longer than nginx keeps an idle upstream connection (60 s): nginx must close first, or it could
  // send a request while the server closes the connection.
  keepAliveTimeout: 65_000,
};

// Indexes of the cells.
const MOST = 0;
const OPEN = 1;
const CLOSED = 2;
const REFUSED = 3;

/** The soft limit on open files. Node raises it to the hard limit when it starts. */
function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? ASSUMED_OPEN_FILES);
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

export interface Connections {
  /** Adds a new connection, which is idle. @returns false if it was refused and closed */
  take(socket: Socket): boolean;
  /** Call it when a request has arrived. */
  use(socket: Socket): void;
  /** Call it when the responses to all requests have been sent. */
  release(socket: Socket): void;
  /**
   * Does both for a request that Node's HTTP server has read.
   * @returns the response before this one on its connection
   */
  useFor(response: ServerResponse): ServerResponse | undefined;
  /** The last response on a connection of Node's HTTP server. */
  responseOf(socket: Socket): ServerResponse | undefined;
}

/** @param cells from {@link newConnectionCells} */
export function makeConnections(cells: Float64Array, log: Logger): Connections {
  /** The one that has been idle for the longest time comes first. */
  const idle = new Set<Socket>();
  const responses = new WeakMap<Socket, ServerResponse>();
  let warnedAt = Number.NEGATIVE_INFINITY;

  /** Closes a connection. @returns false if none is idle */
  function makeRoom(): boolean {
    if (performance.now() - warnedAt >= WARN_EVERY_MS) {
      warnedAt = performance.now();
      log.warn(
        countConnections([cells]),
        'too many connections: idle ones are closed to make room, or new ones refused; see "Connections" in operations/install.md',
      );
    }
    const [first] = idle;
    idle.delete(first);
    // This frees the descriptor at once; the event "close" comes later.
    first?.destroy();
    cells[first === undefined ? REFUSED : CLOSED]++;
    return first !== undefined;
  }

  function release(socket: Socket): void {
    if (!socket.destroyed) idle.add(socket);
  }

  return {
    take(socket) {
      if (cells[OPEN] >= cells[MOST] && !makeRoom()) {
        socket.destroy();
        return false;
      }
      cells[OPEN]++;
      idle.add(socket);
      socket.once('close', () => {
        cells[OPEN]--;
        idle.delete(socket);
      });
      return true;
    },
    use: (socket) => void idle.delete(socket),
    release,
    useFor(response) {
      const { method, socket } = response.req;
      const before = responses.get(socket);
      responses.set(socket, response);
      idle.delete(socket);
      // The body of any other request may never arrive, so its connection becomes the last idle one.
      if (method !== 'GET' && method !== 'HEAD') idle.add(socket);
      response.once('finish', () => {
        // A client may send several requests at once.
        if (responses.get(socket) === response) release(socket);
      });
      return before;
    },
    responseOf: (socket) => responses.get(socket),
  };
}
