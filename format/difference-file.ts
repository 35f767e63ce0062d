/**
 * A difference: the records that were added, changed or removed from a generation to the one that replaced
 * it. It is a text file with one JSON object per line: a head, the changes in a fixed order, and a tail
 * with a checksum. Each change has the content hash of the record before and after, so a difference can be
 * reversed, and consecutive differences can be joined.
 */
import { isGenerationId, sequenceOf } from './layout.ts';

/** Independent of the version of generations: a difference outlives the generations that it compares. */
const VERSION = 1;
/** The largest difference that is written or read, in bytes: room for some ten million changes. */
export const LARGEST_DIFFERENCE = 2 ** 30;
/** The longest line, in bytes: that of a game, with two slugs of full length. */
export const LONGEST_LINE = 1024;

/** In the order in which changes are listed. */
export const RECORD_KINDS = ['platform', 'game', 'cover'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

export interface RecordName {
  readonly kind: RecordKind;
  /** The slug of a platform; the id of a game or a cover, in decimal digits. */
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

export interface DifferenceHead {
  /** The id of the earlier generation, the parent. */
  readonly from: string;
  /** The id of the later generation. */
  readonly to: string;
  /** When the later generation was published: RFC 3339 UTC. */
  readonly published_at: string;
}

export function encodeHead({ from, to, published_at }: DifferenceHead): string {
  return `${JSON.stringify({ version: VERSION, from, to, published_at })}\n`;
}

/** A line for a record. At least one of the hashes is there, and they differ. */
export function encodeChange(change: Change): string {
  const { before, after } = change;
  return `{${encodeName(change)},"before":${encodeHash(before)},"after":${encodeHash(after)}}\n`;
}

/** The members of a change that name its record, as in the file and in the API. */
export function encodeName({ kind, id, path }: RecordName): string {
  const quoted = kind === 'platform' ? `"${id}"` : id;
  return `"kind":"${kind}","id":${quoted},"path":"${path}"`;
}

function encodeHash(hash: string | null): string {
  return hash === null ? 'null' : `"${hash}"`;
}

/** The last line. @param sha256 of all bytes before this line, in hex */
export function encodeTail(changes: number, sha256: string): string {
  return `${JSON.stringify({ changes, sha256 })}\n`;
}

/**
 * @param line without its line break
 * @throws Error that says what is wrong; for another version, with both versions
 */
export function parseHead(line: string): DifferenceHead {
  let found: Partial<Record<keyof DifferenceHead | 'version', unknown>>;
  try {
    found = Object(JSON.parse(line));
  } catch (cause) {
    throw new Error('its first line is not JSON', { cause });
  }
  const { version, from, to, published_at } = found;
  if (version !== VERSION) {
    throw new Error(
      `it has version ${JSON.stringify(version)}; this program reads version ${VERSION}`,
    );
  }
  if (!isId(from)) throw new Error('its parent is not the id of a generation');
  if (!isId(to)) throw new Error('its generation is not the id of one');
  // So no generation is its own ancestor.
  if (sequenceOf(from) >= sequenceOf(to)) throw new Error(`${from} is not older than ${to}`);
  if (typeof published_at !== 'string' || Number.isNaN(Date.parse(published_at))) {
    throw new Error('its time is not a time');
  }
  return { from, to, published_at };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && isGenerationId(value);
}

const SLUG = '(?!\\.)[A-Za-z0-9._~-]{1,191}';
const ID = '(?:0|[1-9]\\d{0,19})';
const HASHES =
  '"before":(?:null|"(?<before>[0-9a-f]{16})"),"after":(?:null|"(?<after>[0-9a-f]{16})")';
const line = (id: string, path: string) =>
  new RegExp(`^\\{"kind":"[a-z]+","id":${id},"path":"(?<path>${path})",${HASHES}\\}$`);
const LINES: Readonly<Record<RecordKind, RegExp>> = {
  platform: line(`"(?<id>${SLUG})"`, '/platforms/\\k<id>'),
  game: line(`(?<id>${ID})`, `/games/${SLUG}/${SLUG}`),
  cover: line(`(?<id>${ID})`, '/covers/\\k<id>'),
};

/**
 * @param text a line without its line break
 * @returns undefined if it is not a line of {@link encodeChange}
 */
export function parseChange(text: string): Change | undefined {
  const kind = RECORD_KINDS.find((each) => text.startsWith(`{"kind":"${each}",`));
  const found = kind && LINES[kind].exec(text)?.groups;
  if (kind === undefined || found === undefined) return undefined;
  const { id, path, before = null, after = null } = found;
  return before === after ? undefined : { kind, id, path, before, after };
}

/**
 * @param text the last line, without its line break
 * @returns undefined if it is not a line of {@link encodeTail}
 */
export function parseTail(text: string): { changes: number; sha256: string } | undefined {
  const found = /^\{"changes":(\d{1,15}),"sha256":"([0-9a-f]{64})"\}$/.exec(text);
  return found === null ? undefined : { changes: Number(found[1]), sha256: found[2] };
}

/** The order of changes: by kind, then by id (of games and covers, as numbers), then by path. */
export function compareNames(a: RecordName, b: RecordName): number {
  return compareRecords(a, b) || compareTexts(a.path, b.path);
}

/** As {@link compareNames}, without the path: 0 for the same record, even if its path differs. */
export function compareRecords(a: RecordName, b: RecordName): number {
  if (a.kind !== b.kind) return RECORD_KINDS.indexOf(a.kind) - RECORD_KINDS.indexOf(b.kind);
  // Ids have no leading zeros, so a longer one is larger. They may exceed 2^53.
  const isLonger = a.kind === 'platform' ? 0 : a.id.length - b.id.length;
  return isLonger || compareTexts(a.id, b.id);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
