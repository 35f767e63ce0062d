/**
 * Pages that are made once: their content in each coding, which the first thread makes and every thread
 * gets, and the responses that a thread makes of it, whole and not modified.
 */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { hashBytes, hexOf } from '../../format/content-hash.ts';
import { type Coding, SMALLEST_COMPRESSED } from '../http/message/negotiation.ts';
import { type HeaderList, NO_BODY, type PreparedResponse } from '../http/message/response.ts';
import { CLOSED, pageHeaders } from './page-policies.ts';

/** A page in each content coding. It can be sent to another thread. A small page is not compressed. */
export interface PageContent {
  readonly headers: HeaderList;
  /** Of the uncompressed bytes. */
  readonly hash: string;
  readonly identity: Uint8Array;
  readonly gzip?: Uint8Array;
  readonly br?: Uint8Array;
}

/** The responses for a page in one content coding. */
export interface PageResponses {
  readonly etag: string;
  readonly whole: PreparedResponse;
  readonly notModified: PreparedResponse;
}

/** The responses for a page, by coding. */
export interface Page {
  readonly identity: PageResponses;
  readonly gzip?: PageResponses;
  readonly br?: PageResponses;
}

// At most 4 % larger than with the best level; compressing all pages takes a tenth of a second.
const BROTLI_QUALITY = 5;

export function makePage(
  contentType: string,
  content: Buffer | string,
  policy = CLOSED,
  extra: HeaderList = [],
): PageContent {
  const bytes = Buffer.from(content);
  const hash = hexOf(hashBytes(bytes));
  const headers = [
    ...pageHeaders(contentType, policy),
    // File names contain no version. Browsers must revalidate, so that pages and scripts match.
    ...['Cache-Control', 'no-cache', ...extra],
  ];
  if (bytes.length < SMALLEST_COMPRESSED) return { headers, hash, identity: bytes };
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const [gzip, br] = [gzipSync(bytes), brotliCompressSync(bytes, { params })];
  return { headers, hash, identity: bytes, gzip, br };
}

/** Makes the responses for a page, in the thread that sends them. */
export function toResponses({ headers, hash, identity, gzip, br }: PageContent): Page {
  return {
    identity: prepare(headers, 'identity', `"${hash}"`, identity),
    ...(gzip && { gzip: prepare(headers, 'gzip', `"${hash}-gzip"`, gzip) }),
    ...(br && { br: prepare(headers, 'br', `"${hash}-br"`, br) }),
  };
}

function prepare(
  headers: HeaderList,
  coding: Coding,
  etag: string,
  { buffer, byteOffset, byteLength }: Uint8Array,
): PageResponses {
  const body = Buffer.from(buffer, byteOffset, byteLength);
  const shared = [...headers, 'ETag', etag, 'Vary', 'Accept-Encoding'];
  const length = ['Content-Length', String(body.length)];
  const encoding = coding === 'identity' ? [] : ['Content-Encoding', coding];
  return {
    etag,
    whole: { head: { status: 200, headers: shared }, headers: [...length, ...encoding], body },
    notModified: { head: { status: 304, headers: shared }, headers: [], body: NO_BODY },
  };
}
