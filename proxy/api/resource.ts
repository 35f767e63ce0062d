/** A resource of the API, with the header fields that its responses have. */
import { hexOf } from '../../format/content-hash.ts';
import {
  type Resource as HttpResource,
  makeResource as makeHttpResource,
} from '../http/resource.ts';
import { type HeaderList, JSON_TYPE } from '../http/response.ts';
import type { Step } from '../search/query.ts';
import type { Body } from '../snapshot/generation.ts';

/** Lets scripts of any site read the response and the header fields that are listed here. */
export const CORS: HeaderList = [
  ...['Access-Control-Allow-Origin', '*'],
  'Access-Control-Expose-Headers',
  'ETag, Link, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Search-Match, X-Snapshot',
];
export const CACHING: HeaderList = [
  ...['Cache-Control', 'private, no-cache'],
  ...['Vary', 'Accept-Encoding', ...CORS],
];
const KIND = {
  ok: { status: 200, headers: [...CACHING, 'Content-Type', JSON_TYPE] },
  notModified: { status: 304, headers: CACHING },
};

export interface Resource extends HttpResource {
  /** The id of the generation that it comes from. */
  readonly snapshot: string;
}

/**
 * @param link the Link header of a paginated list: ASCII without control characters
 * @param searchMatch the X-Search-Match header of a search
 */
export function makeResource(
  { bytes, hash }: Body,
  snapshot: string,
  link?: string,
  searchMatch?: Step,
): Resource {
  const headers = ['X-Snapshot', snapshot];
  if (link !== undefined) headers.push('Link', link);
  if (searchMatch !== undefined) headers.push('X-Search-Match', searchMatch);
  return { ...makeHttpResource({ kind: KIND, hash: hexOf(hash), headers, body: bytes }), snapshot };
}
