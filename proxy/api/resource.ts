/**
 * A resource ready to be sent: its body in each coding that was asked for so far, and the ETag of
 * each. Made once, kept while it is hot; nothing about it is computed again per request.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { hexOf } from '../../format/content-hash.ts';
import type { Coding } from '../http/message/negotiation.ts';
import type { Body } from '../snapshot/generation.ts';

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Smaller bodies gain nothing from compression. */
const SMALLEST_COMPRESSED = 1024;
/**
 * Up to this size a body is kept as a latin1 string, one character a byte, and sent as one text with
 * the head. A larger one is cheaper as bytes.
 */
const LARGEST_STRING_BODY = 2 * 1024;
// Level 5 is about as small as gzip's best at a fraction of brotli's default time.
const BROTLI_QUALITY = 5;

export type Payload = string | Buffer;

export interface Representation {
  readonly payload: Payload;
  /** The header fields that are its own, as lines. */
  readonly fields: string;
}

export interface Resource {
  readonly identity: Representation;
  /** The Link header, on paginated lists: ASCII without control characters. */
  readonly link: string | undefined;
  /** Whether gzip and br are worth their while. */
  readonly isCompressible: boolean;
  readonly hash: string;
  gzip: Representation | Promise<Representation> | undefined;
  br: Representation | Promise<Representation> | undefined;
}

export function makeResource({ bytes, hash }: Body, link?: string): Resource {
  const hex = hexOf(hash);
  const resource = { link, hash: hex };
  return {
    ...resource,
    identity: represent(resource, 'identity', bytes),
    isCompressible: bytes.length >= SMALLEST_COMPRESSED,
    gzip: undefined,
    br: undefined,
  };
}

/** The ETag of a resource in a coding; known before it is compressed. */
export function etagOf({ hash }: Pick<Resource, 'hash'>, coding: Coding): string {
  return coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`;
}

/** The header fields that are a resource's own in a coding, with or without its body, as lines. */
export function fieldsOf(resource: Pick<Resource, 'hash' | 'link'>, coding: Coding): string {
  const link = resource.link === undefined ? '' : `Link: ${resource.link}\r\n`;
  return `ETag: ${etagOf(resource, coding)}\r\n${link}`;
}

/** The body in a coding: compressed off the serving thread, once however many ask. */
export function representationOf(
  resource: Resource,
  coding: Coding,
): Representation | Promise<Representation> {
  if (coding === 'identity') return resource.identity;
  const made = resource[coding];
  if (made !== undefined) return made;
  const making = compress(resource, coding).then(
    (representation) => {
      resource[coding] = representation;
      return representation;
    },
    (error) => {
      resource[coding] = undefined;
      throw error;
    },
  );
  resource[coding] = making;
  return making;
}

async function compress(resource: Resource, coding: 'gzip' | 'br'): Promise<Representation> {
  const { payload } = resource.identity;
  const plain = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const bytes =
    coding === 'gzip'
      ? await gzipAsync(plain)
      : await brotliAsync(plain, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
            [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
          },
        });
  return represent(resource, coding, bytes);
}

function represent(
  resource: Pick<Resource, 'hash' | 'link'>,
  coding: Coding,
  bytes: Buffer,
): Representation {
  const payload = bytes.length <= LARGEST_STRING_BODY ? bytes.toString('latin1') : bytes;
  const encoding = coding === 'identity' ? '' : `Content-Encoding: ${coding}\r\n`;
  return {
    payload,
    fields: `${fieldsOf(resource, coding)}Content-Length: ${bytes.length}\r\n${encoding}`,
  };
}
