/**
 * Calls the API from within the process. Such a call is a request like any other: it needs a key, counts
 * towards its limit, and appears in the metrics. Only the network is left out.
 */
import { type ApiRequest, type RequestHead, readHead } from '../../proxy/http/request.ts';
import type { ApiHandler } from '../../proxy/http/response.ts';

export interface ApiReply {
  readonly status: number;
  /** The value of a header field; undefined if the response does not have it. */
  header(name: string): string | undefined;
  readonly text: string;
}

/** @param visitor for whom the call is made: the log names the visitor's address and the id of the request */
export function callApi(
  api: ApiHandler,
  key: string,
  target: string,
  { socket, head }: Pick<ApiRequest, 'socket'> & { readonly head: Partial<RequestHead> },
): Promise<ApiReply> {
  const { forwardedFor = '', requestId = '' } = head;
  const own = ['Host', 'explorer', 'X-Api-Key', key];
  const visitors = ['X-Forwarded-For', forwardedFor, 'X-Request-Id', requestId];
  const request = readHead({ rawHeaders: [...own, ...visitors], httpVersion: '1.1' });
  return new Promise((resolve, reject) => {
    api(
      { method: 'GET', socket, head: request, target },
      {
        send({ status, headers, body }, own = '') {
          const lines = headers + own;
          const header = (name: string) => new RegExp(`^${name}: (.*)`, 'm').exec(lines)?.[1];
          resolve({ status, header, text: body.toString() });
        },
        sendPieces: async () => reject(new Error('The explorer has called a download.')),
        destroy: () => reject(new Error('The API broke off its response.')),
      },
    );
  });
}
