/**
 * Sends responses through Node's HTTP server. If a client does not read its response, its connection is
 * closed, so that slow readers do not hold memory and connections.
 */
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { HeaderLines, Responder } from './response.ts';

/** A client that takes nothing of its response for so long loses its connection. */
export const LONGEST_DRAIN_MS = 30_000;

/**
 * Wraps a response of Node's HTTP server as a {@link Responder}.
 * @param longestMs for how long a client of a download may take nothing
 */
export function toResponder(response: ServerResponse, longestMs = LONGEST_DRAIN_MS): Responder {
  const writeHead = (status: number, headers: HeaderLines) =>
    response.writeHead(status, parseHeaders(headers));
  return {
    send({ status, headers, body, isLast = false }, own = '') {
      writeHead(status, headers + own + (isLast ? 'Connection: close\r\n' : ''));
      end(response, body);
    },
    async sendPieces({ status, headers, pieces }, own = '') {
      writeHead(status, headers + own);
      limitDrain(response, longestMs);
      try {
        // After an error, the connection is closed, so that the body looks incomplete.
        await pipeline(pieces, response);
      } catch (error) {
        const hasLeft = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
        if (!hasLeft) throw error;
      }
    },
    destroy: () => response.destroy(),
  };
}

/** @returns alternating names and values, as Node's `writeHead` takes them */
function parseHeaders(lines: HeaderLines): string[] {
  return lines.split('\r\n').flatMap((line) => {
    const colon = line.indexOf(': ');
    return colon < 0 ? [] : [line.slice(0, colon), line.slice(colon + 2)];
  });
}

/** Ends a response; closes the connection if the client does not read it. */
export function end(response: ServerResponse, body: Buffer): void {
  if (body.length === 0) response.end();
  else response.end(body);
  // The kernel takes most responses at once. Only the others need a timer.
  if (response.socket?.writableLength !== 0) limitDrain(response);
}

/** Closes the connection of a client that takes nothing of its response for so long. */
export function limitDrain(response: ServerResponse, longestMs = LONGEST_DRAIN_MS): void {
  response.setTimeout(longestMs, () => response.destroy());
}
