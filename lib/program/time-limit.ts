/**
 * Time limits for other machines. Node runs the timers that are due before it reads the sockets, so on a thread that
 * was busy, a timer alone would call a server slow whose answer had been there all along. Invariant: no limit
 * expires before this thread has read what had arrived by then.
 */
import type { Socket } from 'node:net';

/**
 * Calls `expire` after some time. It does not keep the process running.
 * @returns a function that ends the limit
 */
export function limitTime(milliseconds: number, expire: () => void): () => void {
  let decision: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // Node reads the sockets between its timers and its immediates.
    decision = setImmediate(expire);
  }, milliseconds).unref();
  return () => {
    clearTimeout(timer);
    clearImmediate(decision);
  };
}

/**
 * The result of some work of another machine.
 * @throws the error of the work, or one with this message if it takes longer
 */
export function withinTime<T>(work: Promise<T>, milliseconds: number, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = limitTime(milliseconds, () => reject(new Error(message)));
    work.then(resolve, reject).finally(end);
  });
}

/** As `AbortSignal.timeout`, with the same reason. */
export function timeLimit(milliseconds: number): AbortSignal {
  const controller = new AbortController();
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  limitTime(milliseconds, () => controller.abort(reason));
  return controller.signal;
}

/** Calls `expire` after the event "timeout" of a socket, unless bytes had arrived by then, or others were taken. */
export function unlessActive(socket: Socket, expire: () => void): void {
  const { bytesRead, writableLength } = socket;
  setImmediate(() => {
    if (socket.bytesRead === bytesRead && socket.writableLength === writableLength) expire();
  });
}
