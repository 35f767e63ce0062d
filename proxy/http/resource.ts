/**
 * A body in memory, and the responses that are made of it: whole, in each coding that a client has wanted
 * so far, or not modified. Each coding is made only once.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import {
  type Coding,
  chooseCoding,
  matchesEtag,
  SMALLEST_COMPRESSED,
} from './message/negotiation.ts';
import type { RequestHead } from './message/request-head.ts';
import {
  type HeaderList,
  NO_BODY,
  type PreparedResponse,
  type SharedHead,
} from './message/response.ts';

// Output is about as small as with gzip's best level, in a fraction of the time of brotli's default.
const BROTLI_QUALITY = 5;
const compressors = {
  gzip: promisify(gzip),
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
};

/** The heads that all resources of one kind share. Both need the fields of a 304, such as Vary. */
export interface ResourceKind {
  readonly ok: SharedHead;
  readonly notModified: SharedHead;
}

export interface Resource {
  readonly kind: ResourceKind;
  /** Identifies the content, for the ETag: hex digits. */
  readonly hash: string;
  /** The header fields of a 200 and of a 304, besides those of the kind and the ETag. */
  readonly headers: HeaderList;
  readonly identity: PreparedResponse;
  // Undefined until a client first wants the coding; a promise while the body is being compressed.
  gzip: PreparedResponse | Promise<PreparedResponse> | undefined;
  br: PreparedResponse | Promise<PreparedResponse> | undefined;
}

/** What is given to {@link makeResource}. */
export type ResourceContent = Pick<Resource, 'kind' | 'hash' | 'headers'> & {
  readonly body: Buffer;
};

export function makeResource({ body, ...content }: ResourceContent): Resource {
  const identity = prepare(content, 'identity', body);
  return { ...content, identity, gzip: undefined, br: undefined };
}

/**
 * The response for a client: 304 if it has the resource in the coding that it prefers, otherwise 200. The
 * body is compressed off this thread, and only once, even if several requests want it at the same time.
 */
export function respond(
  resource: Resource,
  { acceptEncoding, ifNoneMatch }: Pick<RequestHead, 'acceptEncoding' | 'ifNoneMatch'>,
): PreparedResponse | Promise<PreparedResponse> {
  const { kind, identity } = resource;
  const isSmall = identity.body.length < SMALLEST_COMPRESSED;
  const coding = isSmall ? 'identity' : chooseCoding(acceptEncoding);
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etagOf(resource, coding))) {
    return { head: kind.notModified, headers: ownHeaders(resource, coding), body: NO_BODY };
  }
  if (coding === 'identity') return identity;
  resource[coding] ??= compress(resource, coding);
  return resource[coding];
}

async function compress(resource: Resource, coding: 'gzip' | 'br'): Promise<PreparedResponse> {
  try {
    const body = await compressors[coding](resource.identity.body);
    const response = prepare(resource, coding, body);
    resource[coding] = response;
    return response;
  } catch (error) {
    resource[coding] = undefined;
    throw error;
  }
}

/** The ETag of a resource in a coding. It does not depend on the compressed bytes. */
function etagOf({ hash }: Pick<Resource, 'hash'>, coding: Coding): string {
  return coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`;
}

type Identified = Pick<Resource, 'kind' | 'hash' | 'headers'>;

function ownHeaders(resource: Identified, coding: Coding): string[] {
  return ['ETag', etagOf(resource, coding), ...resource.headers];
}

function prepare(resource: Identified, coding: Coding, body: Buffer): PreparedResponse {
  const headers = ownHeaders(resource, coding);
  headers.push('Content-Length', String(body.length));
  if (coding !== 'identity') headers.push('Content-Encoding', coding);
  return { head: resource.kind.ok, headers, body };
}
