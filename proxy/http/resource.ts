/**
 * A body in memory, and the responses that are made of it: whole, in each coding that a client has wanted
 * so far, or not modified. Each coding is made only once. Codings are chosen and `If-None-Match` is evaluated
 * as RFC 9110 says (sections 12.5.3 and 13.1.2).
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { RequestHead } from './request.ts';
import { type HeaderLines, NO_BODY, type PreparedResponse } from './response.ts';

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

/** The header fields that all resources of one kind share: of a 200, and of a 304. Both need Vary. */
interface ResourceKind {
  readonly ok: HeaderLines;
  readonly notModified: HeaderLines;
}

export interface Resource {
  readonly kind: ResourceKind;
  /** Identifies the content, for the ETag: hex digits. */
  readonly hash: string;
  /** The header fields of a 200 and of a 304, besides those of the kind and the ETag. */
  readonly headers: HeaderLines;
  readonly identity: PreparedResponse;
  // Undefined until a client first wants the coding; a promise while the body is being compressed.
  gzip: PreparedResponse | Promise<PreparedResponse> | undefined;
  br: PreparedResponse | Promise<PreparedResponse> | undefined;
}

/** What is given to {@link makeResource}. */
type ResourceContent = Pick<Resource, 'kind' | 'hash' | 'headers'> & {
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
    const headers = kind.notModified + ownHeaders(resource, coding);
    return { status: 304, headers, body: NO_BODY };
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

function ownHeaders(resource: Identified, coding: Coding): HeaderLines {
  return `ETag: ${etagOf(resource, coding)}\r\n${resource.headers}`;
}

function prepare(resource: Identified, coding: Coding, body: Buffer): PreparedResponse {
  const own = `${ownHeaders(resource, coding)}Content-Length: ${body.length}\r\n`;
  const encoding = coding === 'identity' ? '' : `Content-Encoding: ${coding}\r\n`;
  return { status: 200, headers: resource.kind.ok + own + encoding, body };
}

// Codings and conditions.

/** In bytes; smaller bodies gain nothing from compression. */
export const SMALLEST_COMPRESSED = 1024;

type Coding = 'identity' | 'gzip' | 'br';

/** No honest client sends a longer field. The response to a longer one is not compressed. */
const LONGEST_ACCEPT_ENCODING = 256;
/** Without it, a page for a browser takes 1.02 times as long. */
const negotiated = new LRUCache<string, Coding>({ max: 200 });

/** The coding that the client prefers; br if it accepts br and gzip equally. */
export function chooseCoding(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined || acceptEncoding.length > LONGEST_ACCEPT_ENCODING) {
    return 'identity';
  }
  let coding = negotiated.get(acceptEncoding);
  if (coding === undefined) {
    coding = negotiate(acceptEncoding);
    negotiated.set(acceptEncoding, coding);
  }
  return coding;
}

/** Whether the client names gzip. If it gives identity a higher weight, that does not count. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined || acceptEncoding.length > LONGEST_ACCEPT_ENCODING) return false;
  const weights = readWeights(acceptEncoding);
  const weight = weights.get('gzip') ?? 0;
  return weight > 0 && weight >= (weights.get('identity') ?? 0);
}

function readWeights(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith('q='))?.slice(2);
    weights.set(name === 'x-gzip' ? 'gzip' : name, weight === undefined ? 1 : Number(weight));
  }
  return weights;
}

function negotiate(acceptEncoding: string): Coding {
  const weights = readWeights(acceptEncoding);
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get('*') ?? 0;
  // If the client gives identity a higher weight than a compression, that compression is not used.
  const identity = weights.get('identity') ?? 0;
  const [best] = (['br', 'gzip'] as const)
    .filter((coding) => weightOf(coding) > 0 && weightOf(coding) >= identity)
    .sort((a, b) => weightOf(b) - weightOf(a));
  return best ?? 'identity';
}

/** Whether `If-None-Match` contains the ETag, by the weak comparison that RFC 9110 requires here. */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true;
  return ifNoneMatch.split(',').some((entry) => entry.trim().replace(/^W\//, '') === etag);
}
