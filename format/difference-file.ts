/**
 * A difference: the records that were added, changed or removed from a generation to the one that replaced
 * it. It is a text file with one JSON object per line: a head, the changes, and a tail with a checksum.
 * Each change has the content hash of the record before and after, so consecutive differences can be
 * joined.
 */
import type { Difference } from './layout.ts';

/** Independent of the version of generations: a difference outlives the generations that it compares. */
const VERSION = 2;
/** The largest difference that is read, in bytes: room for two million changes. */
export const LARGEST_DIFFERENCE = 2 ** 28;

export interface RecordName {
  readonly kind: 'platform' | 'game' | 'cover';
  /** The slug of a platform; the id of a game or a cover, in decimal digits, which may exceed 2^53. */
  readonly id: string;
  /** The path of the record in the API. */
  readonly path: string;
}

export interface Change extends RecordName {
  /** The content hash of the record in the earlier generation, in hex; null if it is not in it. */
  readonly before: string | null;
  /** The same for the later generation. */
  readonly after: string | null;
}

/** The first line. The ids are also in the name of the file. */
export function encodeHead({ from, to }: Pick<Difference, 'from' | 'to'>): string {
  return `${JSON.stringify({ version: VERSION, from, to })}\n`;
}

/** A line for a record. At least one of the hashes is there, and they differ. */
export function encodeChange(change: Change): string {
  const [before, after] = [change.before, change.after].map((hash) => JSON.stringify(hash));
  return `{${encodeName(change)},"before":${before},"after":${after}}\n`;
}

/** The members of a change that name its record, as in the file and in the API. */
export function encodeName({ kind, id, path }: RecordName): string {
  const quoted = kind === 'platform' ? `"${id}"` : id;
  return `"kind":"${kind}","id":${quoted},"path":"${path}"`;
}

/** The last line. @param sha256 of all bytes before this line, in hex */
export function encodeTail(changes: number, sha256: string): string {
  return `${JSON.stringify({ changes, sha256 })}\n`;
}

const LINE =
  /^\{"kind":"(?<kind>platform|game|cover)","id":"?(?<id>[\w.~-]+)"?,"path":"(?<path>[\w.~/-]+)","before":(?:null|"(?<before>[0-9a-f]{16})"),"after":(?:null|"(?<after>[0-9a-f]{16})")\}$/;

/**
 * @param line without its line break
 * @returns undefined if it is not a line of {@link encodeChange}
 */
export function parseChange(line: string): Change | undefined {
  const found = LINE.exec(line)?.groups;
  if (found === undefined) return undefined;
  const { kind, id, path, before = null, after = null } = found;
  return { kind: kind as Change['kind'], id, path, before, after };
}
