/**
 * Tracks the open connections of one serving thread and keeps them within its limit. When a new connection
 * arrives at the limit, the least recently used idle one is closed, so that a client that holds idle
 * connections does not keep others out. If every connection is busy, the new one is refused.
 *
 * A client uses a connection when it opens it and when it sends a request. Only the order of uses matters,
 * so each use gets the next number instead of a time.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * How many connections are compared to choose one to close. With more open, the chosen one may not be
 * the least recently used of all.
 */
const MOST_COMPARED = 64;
/** A client that has not read its response for this long may lose its connection. */
const STALLED_MS = 3_000;

// Indexes of the cells.
const MOST = 0;
const OPEN = 1;
const CLOSED = 2;
const REFUSED = 3;
const MOST_FORWARDS = 4;

/**
 * Creates the numbers that a serving thread shares with the main thread: its limits on connections
 * and on forwarded requests (both unlimited at first), and how many connections it has open, has
 * closed and has refused.
 */
export function newConnectionCells(): Float64Array {
  const cells = new Float64Array(new SharedArrayBuffer(5 * 8));
  allowConnections(cells, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  return cells;
}

/** Sets how many connections and forwarded requests a thread may have. */
export function allowConnections(cells: Float64Array, most: number, forwards: number): void {
  cells[MOST] = most;
  cells[MOST_FORWARDS] = forwards;
}

/** How many forwarded requests a thread may have. */
export function mostForwards(cells: Float64Array): number {
  return cells[MOST_FORWARDS];
}

export interface ConnectionCounts {
  readonly open: number;
  /** Idle connections that were closed to make room, since the start of the process. */
  readonly closed: number;
  /** New connections that were refused, since the start of the process. */
  readonly refused: number;
}

/** Adds up the counts of all threads. */
export function countConnections(threads: readonly Float64Array[]): ConnectionCounts {
  const sum = (index: number) => threads.reduce((total, cells) => total + cells[index], 0);
  return { open: sum(OPEN), closed: sum(CLOSED), refused: sum(REFUSED) };
}

/** Marks one connection as used. Call it when a request arrives. */
export type NoteUse = () => void;

/** A socket of Node's HTTP server. Node stores the response under way in `_httpMessage`. */
export type HttpSocket = Socket & { _httpMessage?: ServerResponse | null };

/**
 * Whether a connection has a response that the server has not finished writing, and that does not wait
 * for its client to read.
 */
export function isResponding(socket: HttpSocket): boolean {
  return socket._httpMessage?.writableEnded === false && socket.writableLength === 0;
}

export interface Connections {
  /** Adds a new connection. @returns undefined if it was refused and closed */
  take(socket: Socket): NoteUse | undefined;
  /** Marks a connection as used. Call it when a request arrives on it. */
  noteUse(socket: Socket): void;
  /** Closes idle connections while there are more than the limit allows. */
  trim(): void;
}

interface Connection {
  /** The number of its last use; later uses have larger numbers. */
  lastUse: number;
  /** How many bytes the client had taken at the last check. */
  taken: number;
  /** When `taken` last changed. */
  takenAt: number;
}

/**
 * @param isAnswering whether the server is still writing a response on a connection; false once only
 * the client has yet to read it
 * @param now a monotonic clock in milliseconds
 */
export function makeConnections(
  cells: Float64Array,
  isAnswering: (socket: Socket) => boolean,
  now: () => number,
): Connections {
  // Ordered: the first connection is compared first.
  const open = new Map<Socket, Connection>();
  let uses = 0;

  function forget(socket: Socket): void {
    open.delete(socket);
    cells[OPEN] = open.size;
  }

  /** Whether a client has taken everything that it was sent, or has stalled. */
  function isDone(socket: Socket, connection: Connection): boolean {
    if (socket.writableLength === 0) return true;
    const taken = socket.bytesWritten - socket.writableLength;
    if (taken === connection.taken) return now() - connection.takenAt >= STALLED_MS;
    connection.taken = taken;
    connection.takenAt = now();
    return false;
  }

  /** Closes an idle connection. @returns whether there was one */
  function makeRoom(): boolean {
    let chosen: Socket | undefined;
    let lastUse = Number.POSITIVE_INFINITY;
    for (let rest = Math.min(MOST_COMPARED, open.size); rest > 0; rest--) {
      const [socket, connection] = open.entries().next().value as [Socket, Connection];
      // Move it to the end, so that it is compared again only after all others.
      open.delete(socket);
      open.set(socket, connection);
      if (connection.lastUse < lastUse && !isAnswering(socket) && isDone(socket, connection)) {
        chosen = socket;
        lastUse = connection.lastUse;
      }
    }
    if (chosen === undefined) return false;
    // `destroy` frees the descriptor at once. The event "close", which also calls `forget`, comes later.
    chosen.destroy();
    forget(chosen);
    cells[CLOSED]++;
    return true;
  }

  return {
    take(socket) {
      if (open.size >= cells[MOST] && !makeRoom()) {
        cells[REFUSED]++;
        socket.destroy();
        return undefined;
      }
      const connection: Connection = { lastUse: ++uses, taken: 0, takenAt: now() };
      open.set(socket, connection);
      cells[OPEN] = open.size;
      socket.once('close', () => forget(socket));
      return () => {
        connection.lastUse = ++uses;
      };
    },
    noteUse(socket) {
      const connection = open.get(socket);
      if (connection !== undefined) connection.lastUse = ++uses;
    },
    trim() {
      while (open.size > cells[MOST] && makeRoom());
    },
  };
}
