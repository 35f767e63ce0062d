/**
 * Puts bodies together from records and the JSON around them. Records are copied from their packs, so
 * nothing is parsed or serialised.
 */
import { combineHashes } from '../../../format/content-hash.ts';
import { RECORD_SEPARATOR } from '../../../format/pack.ts';
import type { Body } from '../../snapshot/generation.ts';
import type { Records } from '../../snapshot/records.ts';

/** Writes one body, from its beginning to its end. */
export interface BodyWriter {
  /** @param text ASCII */
  addText(text: string): void;
  /** Adds the records from `from` (inclusive) to `to` (exclusive), all of one platform. */
  addRun(records: Records, from: number, to: number): void;
  /** Adds one record without its closing brace, so that members can be added to it. */
  addOpen(records: Records, number: number): void;
  /**
   * @param numbers what the body depends on besides its records, for the hash: whole numbers below 2^53
   */
  finish(numbers: readonly number[]): Body;
}

/** In bytes; the next body gets a new buffer after a larger one, so that memory does not stay large. */
const USUAL_BYTES = 256 * 1024;
let buffer = Buffer.allocUnsafeSlow(USUAL_BYTES);
/** The content hashes of the records so far, two entries each. */
let hashes = new Uint32Array(4 * 1024);

/**
 * Only one body can be written at a time. Writing into one buffer and copying the result takes a fifth
 * less time than first collecting the parts and their sizes.
 */
export function startBody(): BodyWriter {
  if (buffer.length > USUAL_BYTES) buffer = Buffer.allocUnsafeSlow(USUAL_BYTES);
  let at = 0;
  let hashCount = 0;

  function reserve(bytes: number): void {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(at + bytes, buffer.length * 2));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
  }

  function addBytes(records: Records, from: number, to: number, length: number): void {
    reserve(length);
    records.copy(from, length, buffer, at);
    at += length;
    const { hash } = records.columns;
    const end = to * 2;
    if (hashCount + end - from * 2 > hashes.length) {
      const larger = new Uint32Array((hashCount + end - from * 2) * 2);
      larger.set(hashes.subarray(0, hashCount));
      hashes = larger;
    }
    for (let i = from * 2; i < end; i++) hashes[hashCount++] = hash[i];
  }

  return {
    addText(text) {
      reserve(text.length);
      for (let i = 0; i < text.length; i++) buffer[at++] = text.charCodeAt(i);
    },
    addRun(records, from, to) {
      addBytes(records, from, to, records.sizeOf(from, to));
    },
    addOpen(records, number) {
      addBytes(records, number, number + 1, records.sizeOf(number, number + 1) - 1);
    },
    finish: (numbers) => ({
      bytes: Buffer.from(buffer.subarray(0, at)),
      hash: combineHashes(hashes.subarray(0, hashCount), numbers),
    }),
  };
}

/** The body of a single record. */
export function recordBody(records: Records, number: number): Body {
  const bytes = Buffer.allocUnsafe(records.sizeOf(number, number + 1));
  records.copy(number, bytes.length, bytes, 0);
  return { bytes, hash: records.hashOf(number) };
}

/** Adds the records with the given numbers, in their order, with separators between them. */
export function addEach(
  numbers: readonly number[],
  body: BodyWriter,
  add: (number: number) => void,
): void {
  for (let position = 0; position < numbers.length; position++) {
    if (position > 0) body.addText(RECORD_SEPARATOR);
    add(numbers[position]);
  }
}
