/**
 * Sends errors to clients whose request Node's HTTP server could not read. There is no response object
 * for such a request, so the error is written directly to the socket.
 */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { prepareError, serialiseHeaders } from './message/response.ts';
import { LONGEST_DRAIN_MS } from './node-response.ts';

/** Node stores the response under way in `_httpMessage`. */
type HttpSocket = Socket & { _httpMessage?: ServerResponse | null };

/** Answers a "clientError" of Node's HTTP server. */
export function answerClientError(error: NodeJS.ErrnoException, socket: HttpSocket): void {
  if (!socket.writable || socket._httpMessage?.headersSent === true) socket.destroy();
  else if (error.code === 'HPE_HEADER_OVERFLOW') {
    endWithError(socket, 431, 'Request header too large');
  } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    endWithError(socket, 408, 'Request timeout');
  } else if (error.code === 'HPE_INVALID_URL') {
    endWithError(socket, 400, 'The request target must be percent-encoded UTF-8');
  } else endWithError(socket, 400, 'Bad request');
}

/** Sends an error and closes the connection. */
export function endWithError(socket: Socket, status: number, text: string): void {
  const { head, body } = prepareError(status, text, ['Connection', 'close']);
  const lines = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${serialiseHeaders(head.headers)}\r\n`;
  socket.end(Buffer.concat([Buffer.from(lines), body]), () => socket.destroy());
  // If the client does not read the responses before this one, this one can never be sent.
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}
