/**
 * The open connections of one thread that serves, never more than it may have. When another one comes,
 * the connection that has not been used for the longest time makes room: a client that holds
 * connections without using them does not keep others out. If none can be spared, the new one is
 * refused.
 *
 * A connection is used when it is opened and by each request. Only the order of uses matters, so a
 * request just takes the next number.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many are compared to choose the one to close: the choice is exact up to so many connections. */
const MOST_COMPARED = 64;
/** A client that does not read its response for so long is given up. */
const STALLED_MS = 3_000;

const MOST = 0;
const OPEN = 1;
const CLOSED = 2;
const REFUSED = 3;
const MOST_FORWARDS = 4;

/**
 * Numbers that a thread shares with the first one: how many connections and forwarded requests it
 * may have (unlimited at first), and how many connections are open, were closed and were refused.
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
  /** Since the start: unused ones that were closed to make room, and new ones that were refused. */
  readonly closed: number;
  readonly refused: number;
}

/** The counts of all threads together. */
export function countConnections(threads: readonly Float64Array[]): ConnectionCounts {
  const sum = (cell: number) => threads.reduce((all, cells) => all + cells[cell], 0);
  return { open: sum(OPEN), closed: sum(CLOSED), refused: sum(REFUSED) };
}

/** Notes that a request came on a connection. */
export type NoteUse = () => void;

/** What Node's HTTP server keeps on a socket: the response that is under way. */
export type HttpSocket = Socket & { _httpMessage?: ServerResponse | null };

/** Whether Node's HTTP server is answering a request of a connection. */
export function isResponding(socket: HttpSocket): boolean {
  return socket._httpMessage?.writableEnded === false;
}

export interface Connections {
  /** Adds a new connection. @returns undefined when it was refused and closed */
  take(socket: Socket): NoteUse | undefined;
  /** Notes that a request came on a connection that was added. */
  noteUse(socket: Socket): void;
  /** Closes unused connections while there are more than there may be. */
  trim(): void;
}

interface Connection {
  /** The number of its last use; later uses have larger numbers. */
  lastUse: number;
  /** How many bytes the client had taken when that was last checked, and since when. */
  taken: number;
  takenAt: number;
}

/**
 * @param isAnswering whether a request of a connection is being answered; bytes that wait for the
 * client are not part of it
 * @param now a monotonic clock in milliseconds
 */
export function makeConnections(
  cells: Float64Array,
  isAnswering: (socket: Socket) => boolean,
  now: () => number,
): Connections {
  // The first one is compared next.
  const open = new Map<Socket, Connection>();
  let uses = 0;

  function forget(socket: Socket): void {
    open.delete(socket);
    cells[OPEN] = open.size;
  }

  /** Whether a client has stopped taking what it was sent, or has taken all of it. */
  function isDone(socket: Socket, connection: Connection): boolean {
    if (socket.writableLength === 0) return true;
    const taken = socket.bytesWritten - socket.writableLength;
    if (taken === connection.taken) return now() - connection.takenAt >= STALLED_MS;
    connection.taken = taken;
    connection.takenAt = now();
    return false;
  }

  /** Closes an unused connection. @returns whether there was one */
  function makeRoom(): boolean {
    let chosen: Socket | undefined;
    let lastUse = Number.POSITIVE_INFINITY;
    for (let rest = Math.min(MOST_COMPARED, open.size); rest > 0; rest--) {
      const [socket, connection] = open.entries().next().value as [Socket, Connection];
      // To the end: it is compared again only after all others.
      open.delete(socket);
      open.set(socket, connection);
      if (connection.lastUse < lastUse && !isAnswering(socket) && isDone(socket, connection)) {
        chosen = socket;
        lastUse = connection.lastUse;
      }
    }
    if (chosen === undefined) return false;
    // Its descriptor is free at once; "close" is emitted later.
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
