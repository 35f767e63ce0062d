/**
 * The responses for pages: their security headers, their content codings, and 304 if the client has them.
 * Pages that are made at start are compressed once, by the first thread. The others are compressed for
 * each request, in Node's thread pool, so that they do not delay the API.
 */
import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import { hashBytes, hexOf } from '../../format/content-hash.ts';
import {
  type Coding,
  chooseCoding,
  matchesEtag,
  SMALLEST_COMPRESSED,
} from '../http/message/negotiation.ts';
import type { RequestHead } from '../http/message/request-head.ts';
import { type HeaderList, NO_BODY, type PreparedResponse } from '../http/message/response.ts';

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

/** A page, and how it may be sent. It can be passed to another thread. */
export interface PageContent {
  readonly headers: HeaderList;
  /** Of the uncompressed bytes. */
  readonly hash: string;
  readonly identity: Uint8Array;
  /** The compressed forms, if they were made at start. A small page has none. */
  readonly gzip?: Uint8Array;
  readonly br?: Uint8Array;
}

export interface PageOptions {
  readonly policy?: string;
  readonly cacheControl?: string;
  readonly vary?: string;
  readonly headers?: HeaderList;
}

// At most 4 % larger than with the best level. Compressing all pages of the start takes a tenth of a
// second, one page of the explorer 1 ms.
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

export function makePage(
  contentType: string,
  content: Buffer | string,
  // File names contain no version. Browsers must revalidate, so that pages and scripts match.
  { policy = CLOSED, cacheControl = 'no-cache', vary, headers = [] }: PageOptions = {},
): PageContent {
  const identity = Buffer.from(content);
  const own = [
    ...['Content-Type', contentType],
    ...['Content-Security-Policy', policy],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Referrer-Policy', 'no-referrer'],
    ...['Cache-Control', cacheControl],
    ...(vary === undefined ? [] : ['Vary', vary]),
    ...headers,
  ];
  return { headers: own, hash: hexOf(hashBytes(identity)), identity };
}

/** Adds the compressed forms of a page. */
export function compressPage(page: PageContent): PageContent {
  const { identity } = page;
  if (identity.length < SMALLEST_COMPRESSED) return page;
  return { ...page, gzip: gzipSync(identity), br: brotliCompressSync(identity, BROTLI) };
}

/** The response to a request for a page that exists. Its ETag is that of the coding. */
export function answerPage(
  page: PageContent,
  { acceptEncoding, ifNoneMatch }: Pick<RequestHead, 'acceptEncoding' | 'ifNoneMatch'>,
): PreparedResponse | Promise<PreparedResponse> {
  const isSmall = page.identity.length < SMALLEST_COMPRESSED;
  const coding = isSmall ? 'identity' : chooseCoding(acceptEncoding);
  const etag = coding === 'identity' ? `"${page.hash}"` : `"${page.hash}-${coding}"`;
  const headers = [...page.headers, 'ETag', etag];
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag)) {
    return { head: { status: 304, headers }, headers: [], body: NO_BODY };
  }
  const body = page[coding];
  if (body !== undefined) return response(200, headers, body, coding);
  const compressed = coding === 'gzip' ? promisify(gzip)(page.identity) : compressBr(page.identity);
  return compressed.then((bytes) => response(200, headers, bytes, coding));
}

const compressBr = (bytes: Uint8Array) => promisify(brotliCompress)(bytes, BROTLI);

/** The response with a page that must not be cached: an error, or what differs from moment to moment. */
export function uncachedPage(status: number, { headers, identity }: PageContent): PreparedResponse {
  return response(status, headers, identity);
}

function response(
  status: number,
  headers: HeaderList,
  { buffer, byteOffset, byteLength }: Uint8Array,
  coding: Coding = 'identity',
): PreparedResponse {
  const encoding = coding === 'identity' ? [] : ['Content-Encoding', coding];
  return {
    head: { status, headers },
    headers: ['Content-Length', String(byteLength), ...encoding],
    body: Buffer.from(buffer, byteOffset, byteLength),
  };
}
