/**
 * Closes the connection of a client that does not read its responses in time, so that slow readers do
 * not hold memory and connections.
 */
import type { Socket } from 'node:net';

export interface DrainLimit {
  /** Starts the time in which the client must read what is unsent now, unless it is already running. */
  start(): void;
  stop(): void;
}

export function makeDrainLimit(socket: Socket, milliseconds: number): DrainLimit {
  let timer: NodeJS.Timeout | undefined;

  function start(): void {
    if (timer !== undefined) return;
    // Counts the bytes that wait in the socket as well.
    const goal = socket.bytesWritten;
    timer = setTimeout(() => {
      timer = undefined;
      if (socket.bytesWritten - socket.writableLength < goal) socket.destroy();
      else if (socket.writableLength > 0) start();
    }, milliseconds);
    timer.unref();
  }

  return {
    start,
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
