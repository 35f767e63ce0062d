/**
 * The request and the responder that the API works with. They are the same for requests that the fast
 * path has read and for those that Node's HTTP server has read.
 */
import type { Socket } from 'node:net';
import type { RequestHead } from './request-head.ts';
import type { HeaderLines, PreparedResponse, ResponseInPieces } from './response.ts';

export interface ApiRequest {
  readonly method: string;
  readonly socket: Pick<Socket, 'remoteAddress'>;
  readonly head: RequestHead;
  /** The raw path after the base, and the raw query. */
  readonly target: string;
}

/** Sends the one response to a request. */
export interface Responder {
  /** Whether the client wants only the header fields. */
  readonly isHead: boolean;
  readonly isSent: () => boolean;
  /**
   * @param headers the header fields of only this response
   * @param isLast whether the connection is closed after this response
   */
  send(response: PreparedResponse, headers?: HeaderLines, isLast?: boolean): void;
  /**
   * Sends a response whose body comes in pieces. The next piece is made only once the client has taken
   * the one before, so a response of any size needs the memory of one piece.
   * @returns a promise that resolves when the response was sent, or its client has left
   * @throws the error of a piece; the connection is then closed
   */
  sendPieces(response: ResponseInPieces, headers?: HeaderLines, isLast?: boolean): Promise<void>;
  /** Closes the connection at once, even if a response has begun. */
  destroy(): void;
}

export type ApiHandler = (request: ApiRequest, response: Responder) => void;
