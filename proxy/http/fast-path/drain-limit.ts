/** Gives up on a client that does not read what it was sent, so that slow readers hold nothing. */
import type { Socket } from 'node:net';

export interface DrainLimit {
  /** Gives the client its time to read what is unsent now; does nothing while that time runs. */
  start(): void;
  stop(): void;
}

export function makeDrainLimit(socket: Socket, milliseconds: number): DrainLimit {
  let timer: NodeJS.Timeout | undefined;

  function start(): void {
    if (timer !== undefined) return;
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
