/**
 * Content hashes of records and bodies. ETags are made from them, and they show which records are
 * unchanged. A hash has 64 bits, as two unsigned 32-bit halves, so that millions of hashes fit in a typed
 * array.
 */
import { hash } from 'node:crypto';

export type ContentHash = readonly [high: number, low: number];

/** The first 64 bits of the SHA-256 of a record's or a body's bytes (a string counts as UTF-8). */
export function hashBytes(bytes: Uint8Array | string): ContentHash {
  // 'latin1' gives a string with one character per byte: several times as fast as making a Buffer.
  const digest = hash('sha256', bytes, 'latin1');
  return [halfAt(digest, 0), halfAt(digest, 4)];
}

function halfAt(digest: string, at: number): number {
  const bits =
    (digest.charCodeAt(at) << 24) |
    (digest.charCodeAt(at + 1) << 16) |
    (digest.charCodeAt(at + 2) << 8) |
    digest.charCodeAt(at + 3);
  return bits >>> 0;
}

const digits = Buffer.alloc(8);

/** A content hash as 16 hex digits. Each response needs them; `toString(16)` takes ten times as long. */
export function hexOf([high, low]: ContentHash): string {
  digits.writeUInt32BE(high, 0);
  digits.writeUInt32BE(low, 4);
  return digits.toString('hex');
}
