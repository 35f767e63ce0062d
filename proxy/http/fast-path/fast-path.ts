/**
 * The fast path, for nearly all requests: a GET under the base whose whole head came in one piece
 * and has nothing unusual in it. Such a head is read here and answered with one write, which takes
 * half the processor time of Node's HTTP server (12 µs a request, not 25 µs). At the first byte of
 * anything else the connection is handed to that server for good, with that byte still unread: what
 * is odd, hostile or slow is dealt with there and nowhere else.
 *
 * Other folders import this file only.
 */
import type { Socket } from 'node:net';
import type { NoteUse } from '../../../program/connections.ts';
import { type FastConnection, type FastPathOptions, openConnection } from './connection.ts';

export interface FastPath {
  /** @param noteUse called for each request */
  take(socket: Socket, noteUse: NoteUse): void;
  /** Whether a request of a connection that was taken here is being answered. */
  isAnswering(socket: Socket): boolean;
  /** From now on each response is the last on its connection. */
  announceEnd(): void;
  closeIdle(): void;
  closeAll(): void;
}

export function makeFastPath(options: FastPathOptions): FastPath {
  const connections = new Map<Socket, FastConnection>();
  let isEnding = false;
  return {
    take(socket, noteUse) {
      const connection = openConnection(socket, {
        ...options,
        noteUse,
        isEnding: () => isEnding,
        onLeave: () => connections.delete(socket),
      });
      connections.set(socket, connection);
    },
    isAnswering: (socket) => connections.get(socket)?.isAnswering() ?? false,
    announceEnd() {
      isEnding = true;
    },
    closeIdle() {
      for (const [socket, { isIdle }] of connections) if (isIdle()) socket.destroy();
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}
