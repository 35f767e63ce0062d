/**
 * Sends responses through Node's HTTP server. If a client does not read its response, its connection is
 * closed, so that slow readers do not hold memory and connections.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Responder } from './message/responder.ts';

/** If a client has not read its response after this time, its connection is closed. */
export const LONGEST_DRAIN_MS = 30_000;

/** Wraps a response of Node's HTTP server as a {@link Responder}. */
export function toResponder(response: ServerResponse): Responder {
  return {
    isSent: () => response.headersSent,
    send({ head, headers: own, body }, headers = [], isLast = false) {
      const connectionHeaders = isLast ? ['Connection', 'close'] : [];
      response.writeHead(head.status, [...head.headers, ...own, ...headers, ...connectionHeaders]);
      end(response, body);
    },
    destroy: () => response.destroy(),
  };
}

/** Ends a response; closes the connection if the client does not read it in time. */
export function end(response: ServerResponse, body: Buffer): void {
  if (body.length === 0) response.end();
  else response.end(body);
  const { socket } = response;
  // A pipelined response has no socket until the responses before it are sent. By then the client may
  // have stopped reading.
  if (socket === null)
    response.once('socket', (assigned: Socket) => limitDrain(response, assigned));
  // The kernel takes most responses at once. Only the others need a timer.
  else if (socket.writableLength > 0) limitDrain(response, socket);
}

function limitDrain(response: ServerResponse, socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  response.once('close', () => clearTimeout(timer));
}
