/**
 * A client that has ended its side of a connection may still wait for a response, or may have left: to the
 * server both are the same until it sends something. So while the response is being made, interim ones are
 * sent. The kernel of a client that has left refuses them, which closes the connection.
 */
import type { Socket } from 'node:net';

/** @param sendInterim sends an interim response if one may be sent now; called until the connection closes */
export function probeClient(socket: Socket, everyMs: number, sendInterim: () => void): void {
  const timer = setInterval(sendInterim, everyMs);
  socket.once('close', () => clearInterval(timer));
}
