/**
 * What the API needs of a request, whichever path it came in by: how to see it and how to answer it.
 */
import type { Socket } from 'node:net';
import type { RequestHead } from './request-head.ts';

export interface ApiRequest {
  readonly method: string;
  readonly socket: Pick<Socket, 'remoteAddress'>;
  readonly head: RequestHead;
  /** Path and query, raw, as they stand behind the base. */
  readonly target: string;
}

/** Takes one response, once. */
export interface Responder {
  readonly isSent: () => boolean;
  /**
   * @param fields header lines, each with CR LF behind it
   * @param payload a string has one byte a character
   * @param isLast whether the connection ends with this response
   */
  send(status: number, fields: string, payload: string | Buffer, isLast?: boolean): void;
  /** Gives the connection up. */
  destroy(): void;
}

export type ApiHandler = (request: ApiRequest, response: Responder) => void;
