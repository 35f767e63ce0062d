/**
 * Chooses content codings and evaluates `If-None-Match` (RFC 9110, sections 12.5.3 and 13.1.2).
 */
import { LRUCache } from 'lru-cache';

/** In bytes; smaller bodies gain nothing from compression. */
export const SMALLEST_COMPRESSED = 1024;

export type Coding = 'identity' | 'gzip' | 'br';

/** No honest client sends a longer field. The response to a longer one is not compressed. */
const LONGEST_ACCEPT_ENCODING = 256;
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
