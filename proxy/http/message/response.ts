/** What goes out: header fields as names and values, a body as bytes. Sockets get them as text. */

/** Names and values in turn, as Node's `writeHead` takes them; ASCII. */
export type HeaderList = readonly string[];

/** A status and the header fields that all responses of one kind have; made once. */
export interface SharedHead {
  readonly status: number;
  readonly headers: HeaderList;
  /** Status line and fields as text, kept by the fast path from the first time on. */
  serialized?: string;
}

/** A response but for the header fields that differ from request to request. */
export interface PreparedResponse {
  readonly head: SharedHead;
  /** Further header fields. */
  readonly headers: HeaderList;
  readonly body: Buffer;
  /** What the fast path wrote of it, kept from the first time on; the body only if it is small. */
  serialized?: { readonly headers: string; readonly body: string | undefined };
}

export const NO_BODY = Buffer.alloc(0);

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Header fields as lines, each with CR LF behind it. */
export function serializeHeaders(headers: HeaderList): string {
  let text = '';
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return text;
}

/** An error of the one shape. */
export function prepareError(
  status: number,
  text: string,
  headers: HeaderList = [],
): PreparedResponse {
  const body = Buffer.from(JSON.stringify({ error: text }));
  const own = [
    ...['Content-Type', JSON_TYPE, 'Content-Length', String(body.length)],
    ...['Cache-Control', 'no-store', ...headers],
  ];
  return { head: { status, headers: own }, headers: [], body };
}
