/**
 * Puts bodies together from records and the JSON around them. Records are copied from their packs, so
 * nothing is parsed or serialised.
 */
import { combineHashes } from '../../../format/content-hash.ts';
import { RECORD_SEPARATOR } from '../../../format/pack.ts';
import type { Body } from '../../snapshot/generation.ts';
import type { Records } from '../../snapshot/records.ts';

/** Consecutive records of one platform, from `from` (inclusive) to `to` (exclusive). */
export interface Run {
  readonly records: Records;
  readonly from: number;
  readonly to: number;
  /** Whether the last record is without its closing brace, so that members can be added. */
  readonly isOpen?: boolean;
}

/** ASCII text, or records. */
export type Part = string | Run;

/** The body of a single record. */
export function recordBody(records: Records, number: number): Body {
  const bytes = Buffer.allocUnsafe(records.sizeOf(number, number + 1));
  records.copy(number, bytes.length, bytes, 0);
  return { bytes, hash: records.hashOf(number) };
}

/**
 * @param numbers what the body depends on besides its records, for the hash: whole numbers below 2^53
 */
export function joinParts(parts: readonly Part[], numbers: readonly number[]): Body {
  let size = 0;
  for (const part of parts) size += sizeOf(part);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) {
    const length = sizeOf(part);
    if (typeof part === 'string') bytes.write(part, at, 'latin1');
    else part.records.copy(part.from, length, bytes, at);
    at += length;
  }
  return { bytes, hash: combineHashes(hashesOf(parts), numbers) };
}

function sizeOf(part: Part): number {
  if (typeof part === 'string') return part.length;
  return part.records.sizeOf(part.from, part.to) - (part.isOpen ? 1 : 0);
}

/** The records with the given numbers, in their order, with separators between them. */
export function gather(records: Records, numbers: readonly number[]): Part[] {
  return separated(numbers.map((number) => [{ records, from: number, to: number + 1 }]));
}

/** Puts separators between records. */
export function separated(records: readonly (readonly Part[])[]): Part[] {
  return records.flatMap((parts, position) =>
    position === 0 ? parts : [RECORD_SEPARATOR, ...parts],
  );
}

/** The content hashes of all records, two entries each. */
function hashesOf(parts: readonly Part[]): ArrayLike<number> {
  const runs = parts.filter((part) => typeof part !== 'string');
  const [first] = runs;
  const entriesOf = ({ records, from, to }: Run) => records.columns.hash.subarray(from * 2, to * 2);
  // The usual page of a platform is one run, whose hashes need no copy.
  if (first !== undefined && runs.length === 1) return entriesOf(first);
  const hashes: number[] = [];
  for (const run of runs) hashes.push(...entriesOf(run));
  return hashes;
}
