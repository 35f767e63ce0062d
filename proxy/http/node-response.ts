/**
 * Responses through Node's HTTP server, none of which is held for a client that does not read it.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Responder } from './message/responder.ts';

/** A response that no client has taken after this is given up, so that slow readers hold nothing. */
export const LONGEST_DRAIN_MS = 30_000;

/** Lets the API answer through Node. */
export function toResponder(response: ServerResponse): Responder {
  return {
    isSent: () => response.headersSent,
    send(status, fields, payload, isLast = false) {
      const list = fields
        .split('\r\n')
        .slice(0, -1)
        .flatMap((line) => {
          const colon = line.indexOf(': ');
          return [line.slice(0, colon), line.slice(colon + 2)];
        });
      if (isLast) list.push('Connection', 'close');
      response.writeHead(status, list);
      end(response, payload.length === 0 ? undefined : payload, 'latin1');
    },
    destroy: () => response.destroy(),
  };
}

/** Ends a response and gives up on a client that does not read it. */
export function end(
  response: ServerResponse,
  payload: string | Buffer | undefined,
  encoding: BufferEncoding,
): void {
  if (payload === undefined) response.end();
  else response.end(payload, encoding);
  const { socket } = response;
  // Behind others of a client that did not wait for them: its turn may come when nobody reads.
  if (socket === null)
    response.once('socket', (assigned: Socket) => limitDrain(response, assigned));
  // Only what the kernel would not take at once is still here: no timer for nearly every response.
  else if (socket.writableLength > 0) limitDrain(response, socket);
}

function limitDrain(response: ServerResponse, socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  response.once('close', () => clearTimeout(timer));
}
