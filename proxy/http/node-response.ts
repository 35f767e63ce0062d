/**
 * Sends responses through Node's HTTP server. If a client does not read its response, its connection is
 * closed, so that slow readers do not hold memory and connections.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Responder } from './message/responder.ts';
import {
  type HeaderLines,
  NO_BODY,
  parseHeaders,
  type ResponseInPieces,
} from './message/response.ts';

/** If a client has not read its response after this time, its connection is closed. */
export const LONGEST_DRAIN_MS = 30_000;

/**
 * Wraps a response of Node's HTTP server as a {@link Responder}.
 * @param longestMs how long a client may take to read a piece
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
      const socket = await socketOf(response);
      if (socket === undefined) return false;
      try {
        for await (const piece of pieces) {
          if (!(await writePiece(response, socket, piece, longestMs))) return false;
        }
        if (socket.destroyed) return false;
      } catch (error) {
        // So that the body looks incomplete.
        socket.destroy();
        throw error;
      }
      end(response, NO_BODY);
      return true;
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

/** Ends a response; closes the connection if the client does not read it in time. */
export function end(response: ServerResponse, body: Buffer): void {
  if (body.length === 0) response.end();
  else response.end(body);
  // The kernel takes most responses at once. Only the others need a timer.
  if (response.socket?.writableLength !== 0) limitDrain(response);
}

/** The socket of a response, once the responses before it are sent; undefined if it was closed. */
function socketOf(response: ServerResponse): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    if (response.socket !== null || response.destroyed)
      return resolve(response.socket ?? undefined);
    response.once('socket', resolve);
    response.once('close', () => resolve(undefined));
  });
}

/**
 * Writes a piece of a body. A client that does not take it in time loses its connection.
 * @returns whether the kernel has taken it
 */
function writePiece(
  response: ServerResponse,
  socket: Socket,
  piece: Buffer,
  longestMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isTaken: boolean) => {
      clearTimeout(timer);
      socket.off('close', onClose);
      resolve(isTaken);
    };
    const onClose = () => end(false);
    // "close" follows.
    const timer = setTimeout(() => socket.destroy(), longestMs).unref();
    if (socket.destroyed) return end(false);
    socket.once('close', onClose);
    response.write(piece, (error) => end(error === undefined || error === null));
  });
}

/** Closes the connection of a client that has not read its whole response in time. */
export function limitDrain(response: ServerResponse, longestMs = LONGEST_DRAIN_MS): void {
  const { socket } = response;
  // A pipelined response has no socket until the responses before it are sent. By then the client may
  // have stopped reading.
  if (socket === null) {
    response.once('socket', () => limitDrain(response, longestMs));
    return;
  }
  const timer = setTimeout(() => socket.destroy(), longestMs);
  timer.unref();
  response.once('close', () => clearTimeout(timer));
}
