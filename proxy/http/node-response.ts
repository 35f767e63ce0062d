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
 * A client that takes less of a download in such a time loses its connection: 4 KB/s on average. The time is
 * long because the kernel buffers: from a reader at 20 KB/s, nothing may be seen for 50 seconds.
 */
const LEAST_RATE = { bytes: 240 * 1024, milliseconds: 60_000 };

/** Wraps a response of Node's HTTP server as a {@link Responder}. */
export function toResponder(response: ServerResponse, leastRate = LEAST_RATE): Responder {
  const writeHead = (status: number, headers: HeaderLines) =>
    response.writeHead(status, parseHeaders(headers));
  return {
    send({ status, headers, body, isLast = false }, own = '') {
      if (isLast) response.shouldKeepAlive = false;
      writeHead(status, headers + own);
      end(response, body);
    },
    async sendPieces({ status, headers, pieces }, own = '') {
      writeHead(status, headers + own);
      let taken = 0;
      const timer = setInterval(() => {
        // If nothing waits to be sent, it is the client that waits, for the next piece.
        if (taken < leastRate.bytes && response.writableLength > 0) response.destroy();
        taken = 0;
      }, leastRate.milliseconds);
      async function* counted(): AsyncGenerator<Buffer> {
        for await (const piece of pieces) {
          yield piece;
          taken += piece.length;
        }
      }
      try {
        // After an error, the connection is closed, so that the body looks incomplete.
        await pipeline(counted, response);
      } catch (error) {
        const hasLeft = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
        if (!hasLeft) throw error;
      } finally {
        clearInterval(timer);
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
function end(response: ServerResponse, body: Buffer): void {
  if (body.length === 0) response.end();
  else response.end(body);
  // The kernel takes most responses at once. Only the others need a timer.
  if (response.socket?.writableLength !== 0) {
    response.setTimeout(LONGEST_DRAIN_MS, () => response.destroy());
  }
}
