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

/**
 * The hash of a list body, made of the content hashes of its records and the numbers in its tail, so that the
 * ETag of a page is known without reading the page. It need not be cryptographic: content hashes come from
 * SHA-256. With SHA-256 here, a search takes 3 µs more.
 * @param hashes two entries per record
 * @param numbers the numbers in the tail (page, per_page, total), whole and below 2^53
 */
export function combineHashes(hashes: ArrayLike<number>, numbers: readonly number[]): ContentHash {
  let high = 0x9e3779b9 ^ hashes.length;
  let low = 0x85ebca6b;
  const add = (value: number) => {
    high = Math.imul(rotate(high ^ value, 13), 0xcc9e2d51);
    low = (Math.imul(rotate(low, 17) ^ value, 0x1b873593) + high) | 0;
    high = (high + rotate(low, 5)) | 0;
  };
  for (let i = 0; i < hashes.length; i++) add(hashes[i]);
  for (const number of numbers) {
    add(Math.floor(number / 2 ** 32) | 0);
    add(number | 0);
  }
  return [finish(high ^ rotate(low, 16)), finish(low ^ hashes.length)];
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function finish(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

const digits = Buffer.alloc(8);

/** A content hash as 16 hex digits. Each response needs them; `toString(16)` takes ten times as long. */
export function hexOf([high, low]: ContentHash): string {
  digits.writeUInt32BE(high, 0);
  digits.writeUInt32BE(low, 4);
  return digits.toString('hex');
}
