/**
 * Pages: their security headers, and the responses with them. A page that may be cached is answered as a
 * resource (`respond`), which compresses it off the thread and knows its ETag.
 */
import { hashBytes, hexOf } from '../../format/content-hash.ts';
import type { HeaderList, PreparedResponse } from '../http/message/response.ts';
import { makeResource, type Resource } from '../http/resource.ts';

export const HTML = 'text/html; charset=utf-8';

/** Nothing may be loaded, and no other site may frame the page. The policies below allow more. */
export const CLOSED =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The page may load scripts, styles and images of this site. */
export const PAGE_POLICY = `${CLOSED}; script-src 'self'; style-src 'self'; img-src 'self'`;
/** Its search box leads to the explorer. */
export const START_POLICY = PAGE_POLICY.replace("form-action 'none'", "form-action 'self'");
/** Its scripts may also send requests to this site, to try the API. */
export const DOCS_POLICY = `${PAGE_POLICY}; connect-src 'self'`;

/** A page with its header fields. It can be passed to another thread. */
export interface Page {
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

export interface PageOptions {
  readonly policy?: string;
  readonly cacheControl?: string;
  readonly vary?: string;
  readonly headers?: HeaderList;
}

export function makePage(
  contentType: string,
  content: Buffer | string,
  // File names contain no version. Browsers must revalidate, so that pages and scripts match.
  { policy = CLOSED, cacheControl = 'no-cache', vary, headers = [] }: PageOptions = {},
): Page {
  const own = [
    ...['Content-Type', contentType],
    ...['Content-Security-Policy', policy],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Referrer-Policy', 'no-referrer'],
    ...['Cache-Control', cacheControl],
    ...(vary === undefined ? [] : ['Vary', vary]),
    ...headers,
  ];
  return { headers: own, body: Buffer.from(content) };
}

export function pageResource({ headers, body }: Page): Resource {
  const kind = { ok: { status: 200, headers }, notModified: { status: 304, headers } };
  return makeResource({ kind, hash: hexOf(hashBytes(body)), headers: [], body: bufferOf(body) });
}

/** The response with a page that must not be cached: an error, or what differs from moment to moment. */
export function uncachedPage(status: number, { headers, body }: Page): PreparedResponse {
  const length = ['Content-Length', String(body.length)];
  return { head: { status, headers }, headers: length, body: bufferOf(body) };
}

/** A buffer that was passed to another thread is only an array there. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
