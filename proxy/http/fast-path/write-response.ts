/**
 * Writes a response to a socket, with head and body in one write if they are small. Header fields and
 * small bodies that are sent repeatedly are turned into text once and kept: this saves 0.7 µs of 10.7 µs
 * of CPU time per request.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import {
  type HeaderLines,
  type PreparedResponse,
  type ResponseInPieces,
  type SharedHead,
  serialiseHeaders,
} from '../message/response.ts';
import { type PieceWriter, writePieces } from '../message/write-pieces.ts';

/** In bytes; a body up to this is written as text, a larger one as bytes. */
const LARGEST_TEXT = 2 * 1024;
/** In bytes; a head and a body of at most this size together are sent in one write. */
const LARGEST_TOGETHER = 64 * 1024;

/** A head and a body are put together here. It can be reused once the kernel has taken the bytes. */
let scratch = Buffer.allocUnsafeSlow(LARGEST_TOGETHER);

/**
 * @param headers the header fields of only this response
 * @param connectionHeaders header lines about the connection, each followed by CR LF
 */
export function writeResponse(
  socket: Socket,
  response: PreparedResponse,
  headers: HeaderLines,
  connectionHeaders: string,
): void {
  const { head: shared, body } = response;
  shared.serialised ??= serialiseHead(shared);
  response.serialised ??= {
    headers: serialiseHeaders(response.headers),
    body: body.length <= LARGEST_TEXT ? body.toString('latin1') : undefined,
  };
  const own = response.serialised;
  const head = `${shared.serialised}${own.headers}${headers}${dateLine()}${connectionHeaders}\r\n`;
  if (own.body !== undefined) {
    socket.write(head + own.body, 'latin1');
    return;
  }
  const length = head.length + body.length;
  if (length > LARGEST_TOGETHER) {
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
    return;
  }
  scratch.write(head, 0, 'latin1');
  body.copy(scratch, head.length);
  socket.write(scratch.subarray(0, length));
  // If the kernel did not take all bytes at once, the socket still needs this memory for the rest.
  if (socket.writableLength > 0) scratch = Buffer.allocUnsafeSlow(LARGEST_TOGETHER);
}

/**
 * As {@link writeResponse}, for a body in pieces; without Content-Length, the body is sent in chunks
 * (RFC 9112, section 7.1).
 * @returns whether everything was written; if not, the connection is closed
 */
export async function writePiecesTo(
  { socket, longestMs }: Omit<PieceWriter, 'write'>,
  { head: shared, headers: own, pieces }: ResponseInPieces,
  headers: HeaderLines,
  connectionHeaders: string,
): Promise<boolean> {
  const isChunked = !own.includes('Content-Length');
  const framing = isChunked ? 'Transfer-Encoding: chunked\r\n' : '';
  const head = serialiseHead(shared) + serialiseHeaders(own) + headers + dateLine();
  socket.write(`${head}${framing}${connectionHeaders}\r\n`, 'latin1');
  const writeChunk: PieceWriter['write'] = (piece, onTaken) => {
    socket.cork();
    socket.write(`${piece.length.toString(16)}\r\n`, 'latin1');
    socket.write(piece);
    socket.write('\r\n', 'latin1', onTaken);
    socket.uncork();
  };
  const write: PieceWriter['write'] = (piece, onTaken) => socket.write(piece, onTaken);
  const isComplete = await writePieces(pieces, {
    socket,
    longestMs,
    write: isChunked ? writeChunk : write,
  });
  if (isComplete && isChunked) socket.write('0\r\n\r\n', 'latin1');
  return isComplete;
}

function serialiseHead({ status, headers }: SharedHead): string {
  return flat(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${serialiseHeaders(headers)}`);
}

let date: string | undefined;

/**
 * The Date field of a response. As in Node's HTTP server, the text is forgotten at the end of the second,
 * so that a request does not need to read the clock.
 */
function dateLine(): string {
  if (date === undefined) {
    const now = new Date();
    date = flat(`Date: ${now.toUTCString()}\r\n`);
    setTimeout(forgetDate, 1000 - now.getMilliseconds()).unref();
  }
  return date;
}

/** The next response reads the clock again. */
export function forgetDate(): void {
  date = undefined;
}

/** Makes a string contiguous. V8 keeps a concatenated string as a tree and would walk it each time. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
