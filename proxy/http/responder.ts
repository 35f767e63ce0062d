/**
 * What the API asks of whichever way a request came in: how to see it and how to answer it.
 */
import type { Socket } from 'node:net';
import type { RequestHead } from './request-head.ts';
import type { Payload } from './resource.ts';

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
  send(status: number, fields: string, payload: Payload, isLast?: boolean): void;
  /** Gives the connection up. */
  destroy(): void;
}

export type ApiHandler = (request: ApiRequest, response: Responder) => void;
