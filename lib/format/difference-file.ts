/**
 * A difference: the records that were added, changed or removed from a generation to the one that replaced
 * it. It is a text file with one JSON object per line: the changes, and a tail with a checksum. Each change
 * has the content hash of the record before and after, so consecutive differences can be joined.
 */
import { hash } from 'node:crypto';
import type { Difference } from './layout.ts';

/** Independent of the version of generations: a difference outlives the generations that it compares. */
const VERSION = 3;
/** The largest difference that is written and read, in bytes: room for two million changes. */
export const LARGEST_DIFFERENCE = 2 ** 28;

export interface Change {
  readonly kind: 'platform' | 'game' | 'cover';
  /** The slug of a platform; the id of a game or a cover, in decimal digits, which may exceed 2^53. */
  readonly id: string;
  /** The path of the record in the API. */
  readonly path: string;
  /** The content hash of the record in the earlier generation, in hex; null if it is not in it. */
  readonly before: string | null;
  /** The same for the later generation; another hash, or null if `before` is not. */
  readonly after: string | null;
}

/** The members of a change that name its record, as in the file and in the API. */
export function encodeName({ kind, id, path }: Pick<Change, 'kind' | 'id' | 'path'>): string {
  const quoted = kind === 'platform' ? `"${id}"` : id;
  return `"kind":"${kind}","id":${quoted},"path":"${path}"`;
}

type Ids = Pick<Difference, 'from' | 'to'>;

/** The content of the file. @throws Error if it would have more than `largest` bytes */
export function encodeDifference(
  ids: Ids,
  changes: Iterable<Change>,
  largest = LARGEST_DIFFERENCE,
): string {
  let bytes = encodeTail(ids, '').length;
  const lines = Array.from(changes, (change) => {
    const { before, after } = change;
    const line = `{${encodeName(change)},${JSON.stringify({ before, after }).slice(1)}\n`;
    bytes += line.length;
    if (bytes > largest) throw new Error(`their file would be larger than ${largest} bytes`);
    return line;
  }).join('');
  return lines + encodeTail(ids, lines);
}

const LINE =
  /^\{"kind":"(?<kind>platform|game|cover)","id":"?(?<id>[\w.~-]+)"?,"path":"(?<path>[\w.~/-]+)","before":(?:null|"(?<before>[0-9a-f]{16})"),"after":(?:null|"(?<after>[0-9a-f]{16})")\}$/;

/**
 * @param text the content of the file, which is checked before the first change
 * @throws Error if it is damaged, of another version, or not the difference between these generations
 */
export function* parseDifference(text: string, ids: Ids): Generator<Change> {
  const end = text.lastIndexOf('\n', text.length - 2) + 1;
  const lines = text.slice(0, end);
  if (text.slice(end) !== encodeTail(ids, lines)) {
    throw new Error('its last line does not fit its name and content, or is of another version');
  }
  for (const line of lines.split('\n').slice(0, -1)) {
    const found = LINE.exec(line)?.groups;
    if (found === undefined) throw new Error('a line is damaged');
    const { kind, id, path, before = null, after = null } = found;
    yield { kind: kind as Change['kind'], id, path, before, after };
  }
}

/** The last line. With the ids, a file under a wrong name is noticed. */
function encodeTail({ from, to }: Ids, lines: string): string {
  return `${JSON.stringify({ version: VERSION, from, to, sha256: hash('sha256', lines) })}\n`;
}
