/**
 * A resource of the API, with the parts of its responses that do not depend on the request: body, ETag
 * and header fields, in each coding that a client has wanted so far. Each coding is made only once.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { hexOf } from '../../../format/content-hash.ts';
import { type Coding, SMALLEST_COMPRESSED } from '../../http/message/negotiation.ts';
import {
  type HeaderList,
  JSON_TYPE,
  NO_BODY,
  type PreparedResponse,
  type SharedHead,
} from '../../http/message/response.ts';
import type { Step } from '../../search/query.ts';
import type { Body } from '../../snapshot/generation.ts';

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

// Output is about as small as with gzip's best level, in a fraction of the time of brotli's default.
const BROTLI_QUALITY = 5;

/** Lets scripts of any site read the response and the header fields that are listed here. */
export const CORS: HeaderList = [
  ...['Access-Control-Allow-Origin', '*'],
  'Access-Control-Expose-Headers',
  'ETag, Link, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Search-Match, X-Snapshot',
];
const CACHING: HeaderList = [
  ...['Cache-Control', 'private, no-cache'],
  ...['Vary', 'Accept-Encoding', ...CORS],
];
const OK: SharedHead = { status: 200, headers: [...CACHING, 'Content-Type', JSON_TYPE] };
const NOT_MODIFIED: SharedHead = { status: 304, headers: CACHING };

interface Identity {
  /** The content hash, in hex. */
  readonly hash: string;
  /** The id of the generation. */
  readonly snapshot: string;
  /** The Link header of a paginated list: ASCII without control characters. */
  readonly link: string | undefined;
  /** The X-Search-Match header of a search. */
  readonly searchMatch: Step | undefined;
}

export interface Resource extends Identity {
  /** Whether the body is large enough for gzip and br. */
  readonly isCompressible: boolean;
  readonly identity: PreparedResponse;
  // Undefined until a client first wants the coding; a promise while the body is being compressed.
  gzip: PreparedResponse | Promise<PreparedResponse> | undefined;
  br: PreparedResponse | Promise<PreparedResponse> | undefined;
}

export function makeResource(
  { bytes, hash }: Body,
  snapshot: string,
  link?: string,
  searchMatch?: Step,
): Resource {
  const resource = { hash: hexOf(hash), snapshot, link, searchMatch };
  return {
    ...resource,
    isCompressible: bytes.length >= SMALLEST_COMPRESSED,
    identity: prepare(resource, 'identity', bytes),
    gzip: undefined,
    br: undefined,
  };
}

/** The ETag of a resource in a coding. It does not depend on the compressed bytes. */
export function etagOf({ hash }: Identity, coding: Coding): string {
  return coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`;
}

/** The 304 for a client that already has the resource in a coding. */
export function notModified(resource: Resource, coding: Coding): PreparedResponse {
  return { head: NOT_MODIFIED, headers: ownHeaders(resource, coding), body: NO_BODY };
}

/**
 * The 200 in a coding. The body is compressed off the serving thread, and only once, even if several
 * requests want it at the same time.
 */
export function responseOf(
  resource: Resource,
  coding: Coding,
): PreparedResponse | Promise<PreparedResponse> {
  if (coding === 'identity') return resource.identity;
  const known = resource[coding];
  if (known !== undefined) return known;
  const compressing = compress(resource.identity.body, coding).then(
    (bytes) => {
      const response = prepare(resource, coding, bytes);
      resource[coding] = response;
      return response;
    },
    (error) => {
      resource[coding] = undefined;
      throw error;
    },
  );
  resource[coding] = compressing;
  return compressing;
}

function compress(body: Buffer, coding: 'gzip' | 'br'): Promise<Buffer> {
  if (coding === 'gzip') return gzipAsync(body);
  return brotliAsync(body, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
    },
  });
}

function prepare(resource: Identity, coding: Coding, body: Buffer): PreparedResponse {
  const headers = ownHeaders(resource, coding);
  headers.push('Content-Length', String(body.length));
  if (coding !== 'identity') headers.push('Content-Encoding', coding);
  return { head: OK, headers, body };
}

function ownHeaders(resource: Identity, coding: Coding): string[] {
  const headers = ['ETag', etagOf(resource, coding), 'X-Snapshot', resource.snapshot];
  if (resource.link !== undefined) headers.push('Link', resource.link);
  if (resource.searchMatch !== undefined) headers.push('X-Search-Match', resource.searchMatch);
  return headers;
}
