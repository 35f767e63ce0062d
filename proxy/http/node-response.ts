/**
 * Sends responses through Node's HTTP server. If a client does not read its response, its connection is
 * closed, so that slow readers do not hold memory and connections.
 */
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  type HeaderLines,
  parseHeaders,
  type Responder,
  type ResponseInPieces,
} from './response.ts';

/** A client that takes nothing of its response for so long loses its connection. */
export const LONGEST_DRAIN_MS = 30_000;

/**
 * Wraps a response of Node's HTTP server as a {@link Responder}.
 * @param longestMs for how long a client of a download may take nothing
 */
export function toResponder(response: ServerResponse, longestMs = LONGEST_DRAIN_MS): Responder {
  return {
    isHead: response.req.method === 'HEAD',
    isSent: () => response.headersSent,
    send(prepared, headers, isLast) {
      writeHead(response, prepared, headers, isLast);
      end(response, prepared.body);
    },
    async sendPieces({ pieces, ...prepared }, headers, isLast) {
      writeHead(response, prepared, headers, isLast);
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

function writeHead(
  response: ServerResponse,
  { head, headers: own }: Omit<ResponseInPieces, 'pieces'>,
  headers: HeaderLines = '',
  isLast = false,
): void {
  const connectionHeaders = isLast ? ['Connection', 'close'] : [];
  response.writeHead(head.status, [
    ...head.headers,
    ...own,
    ...parseHeaders(headers),
    ...connectionHeaders,
  ]);
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
