/**
 * Calls the API from within the process, and reads the records of its replies. Such a call is a request like
 * any other: it needs a key, counts towards its limit, and appears in the metrics and the access log. Only
 * the network is left out.
 */
import type { ApiRequest, RequestHead } from '../http/request.ts';
import type { ApiHandler } from '../http/response.ts';

export interface ApiReply {
  readonly status: number;
  /** The value of a header field; undefined if the response does not have it. */
  header(name: string): string | undefined;
  readonly text: string;
}

/** @param target the path after the base, and the query */
export type CallApi = (
  socket: ApiRequest['socket'],
  head: RequestHead,
  target: string,
) => Promise<ApiReply>;

export function makeCallApi(api: ApiHandler): CallApi {
  return (socket, head, target) =>
    new Promise((resolve, reject) => {
      const request = { method: 'GET', socket, head, target };
      api(request, {
        send({ status, headers, body }, own) {
          const lines = headers + own;
          const header = (name: string) => new RegExp(`^${name}: (.*)`, 'm').exec(lines)?.[1];
          resolve({ status, header, text: body.toString() });
        },
        async sendPieces() {
          reject(new Error(`${target} is a download, which is not shown on a page.`));
        },
        destroy: () => reject(new Error(`The API broke off its response to ${target}.`)),
      });
    });
}

/**
 * The head of a call: that of the visitor's request with a key of this site, and without the fields that are
 * about the page: its coding, its version, a range of it.
 */
export function headOfCall(visitors: RequestHead, key: string): RequestHead {
  return {
    ...visitors,
    key,
    hasSeveralKeys: false,
    hasMisplacedKey: false,
    ifNoneMatch: undefined,
    acceptEncoding: undefined,
    range: undefined,
    ifRange: undefined,
    snapshot: undefined,
  };
}

/** An id of so many digits that a double may not hold it. In a text, the quotes would be escaped. */
const LONG_ID = /"id":(\d{16,})/g;

/** Parses a body of the API. Pages only show ids: one with so many digits becomes a text. */
export function parseRecords<T>(text: string): T {
  return JSON.parse(text.replace(LONG_ID, '"id":"$1"'));
}
