/**
 * What the API needs of a request, whichever path it came in by: how to see it and how to answer it.
 */
import type { Socket } from 'node:net';
import type { RequestHead } from './request-head.ts';
import type { HeaderList, PreparedResponse } from './response.ts';

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
   * @param headers of this response alone
   * @param isLast whether the connection ends with it
   */
  send(response: PreparedResponse, headers?: HeaderList, isLast?: boolean): void;
  /** Gives the connection up. */
  destroy(): void;
}

export type ApiHandler = (request: ApiRequest, response: Responder) => void;
