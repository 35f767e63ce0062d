/**
 * Responses: their header fields as text, their body as bytes; and the responder that sends one.
 */
import type { ApiRequest } from './request.ts';

/**
 * Header fields as they are sent, each a line that ends with CR LF; ASCII. The fast path sends this text as it
 * is: a list of names and values would have to be turned into text for each response.
 */
export type HeaderLines = string;

/** A response without the header fields that differ from request to request. */
export interface PreparedResponse {
  readonly status: number;
  readonly headers: HeaderLines;
  readonly body: Buffer;
  /** Whether the connection is closed after it. */
  readonly isLast?: boolean;
  /** The head and a small body as text. The fast path sets it when it first sends this response. */
  text?: { readonly head: string; readonly body: string | undefined };
}

/** A response whose body is too large to be in memory. */
export interface ResponseInPieces {
  readonly status: number;
  /** With Content-Length, unless the size of the body is not known. */
  readonly headers: HeaderLines;
  readonly pieces: AsyncIterable<Buffer>;
}

/** Sends the one response to a request. */
export interface Responder {
  /** @param headers the header fields of only this response */
  send(response: PreparedResponse, headers?: HeaderLines): void;
  /**
   * Sends a response whose body comes in pieces. The next piece is made only once the client has taken
   * the one before, so a response of any size needs the memory of one piece.
   * @returns a promise that resolves when the response was sent, or its client has left
   * @throws the error of a piece; the connection is then closed
   */
  sendPieces(response: ResponseInPieces, headers?: HeaderLines): Promise<void>;
  /** Closes the connection at once, even if a response has begun. */
  destroy(): void;
}

/** Answers a request, now or later. It never throws. */
export type ApiHandler = (request: ApiRequest, response: Responder) => void;

export const NO_BODY = Buffer.alloc(0);

export const JSON_TYPE = 'application/json; charset=utf-8';

/** @param fields such as 'Vary: Accept' */
export function headerLines(...fields: readonly string[]): HeaderLines {
  return fields.map((field) => `${field}\r\n`).join('');
}

/** An error response, `{"error":"<text>"}`, with one more member if it is about a parameter. */
export function prepareError(
  status: number,
  text: string,
  headers: HeaderLines = '',
  parameter?: string,
): PreparedResponse {
  const body = Buffer.from(JSON.stringify({ error: text, parameter }));
  const own = headerLines(
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${body.length}`,
    'Cache-Control: no-store',
  );
  return { status, headers: own + headers, body };
}

/** The answer to a request that has failed inside the proxy. */
export const INTERNAL_ERROR = { ...prepareError(500, 'Internal error'), isLast: true };
