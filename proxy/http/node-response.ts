/**
 * Responses through Node's HTTP server. A client that does not read its response is given up, so
 * that it holds nothing.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Responder } from './message/responder.ts';

/** A client that has not read its response after this is given up. */
export const LONGEST_DRAIN_MS = 30_000;

/** Lets the API answer through Node. */
export function toResponder(response: ServerResponse): Responder {
  return {
    isSent: () => response.headersSent,
    send({ head, headers: own, body }, headers = [], isLast = false) {
      const ofConnection = isLast ? ['Connection', 'close'] : [];
      response.writeHead(head.status, [...head.headers, ...own, ...headers, ...ofConnection]);
      end(response, body);
    },
    destroy: () => response.destroy(),
  };
}

/** Ends a response and gives up on a client that does not read it. */
export function end(response: ServerResponse, body: Buffer): void {
  if (body.length === 0) response.end();
  else response.end(body);
  const { socket } = response;
  // Behind others of a client that did not wait for them: it may get its socket when nobody reads.
  if (socket === null)
    response.once('socket', (assigned: Socket) => limitDrain(response, assigned));
  // Only what the kernel did not take at once is still here: few responses need a timer.
  else if (socket.writableLength > 0) limitDrain(response, socket);
}

function limitDrain(response: ServerResponse, socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  response.once('close', () => clearTimeout(timer));
}
