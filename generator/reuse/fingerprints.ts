/**
 * Fingerprints of a table and of its chunks. The server computes them over `id` and `updated_at`, in SQL
 * that MySQL, MariaDB and SQLite understand. A chunk is a range of ids; a row is only read again if the
 * fingerprint of its chunk has changed.
 *
 * What they show: a deleted row changes the number of rows; a changed or new row has a later `updated_at`,
 * which changes the latest one. Where a later time of another row hides that (a transaction that commits
 * late) or where rows come and go at once, the sums of the ids and of the weighted checksums differ,
 * except by a chance of about one in 2^32. A row whose `updated_at` stays the same is not seen.
 */
import type { Reader, Row, Value } from '../../database/database.ts';
import type { TimedTable } from '../../database/schema.ts';
import type { Id } from '../../format/index/ids.ts';

export interface Fingerprints {
  readonly shift: number;
  /** That of each chunk that has rows, by the chunk's number: that of its ids >> `shift`. */
  readonly chunks: ReadonlyMap<number, string>;
  /** That of the whole table. */
  readonly whole: string;
}

const ROWS_PER_CHUNK = 4096;
/** With a smaller shift, the number of a chunk could exceed 2^53. */
const SMALLEST_SHIFT = 12;

/** The shift at which chunks have about {@link ROWS_PER_CHUNK} rows if the ids are evenly spread. */
export function chooseShift(rows: number, [high, low]: Id): number {
  const ids = high * 2 ** 32 + low + 1;
  const perChunk = (ids / Math.max(1, rows)) * ROWS_PER_CHUNK;
  return Math.min(52, Math.max(SMALLEST_SHIFT, Math.round(Math.log2(perChunk))));
}

/** The number of the chunk of an id. */
export function chunkOf([high, low]: Id, shift: number): number {
  return shift < 32 ? high * 2 ** (32 - shift) + (low >>> shift) : high >>> (shift - 32);
}

/**
 * CRC32 is linear: for some times, two rows that change from the same time to the same time leave the sum
 * of their CRC32 as it was. With a weight for each id, it differs.
 */
const CHECKSUM =
  "(CRC32(id || ' ' || updated_at) * ((((id & 65535) * 40503) & 65535) | 32768)) >> 16";
const PARTS = `COUNT(*), SUM(id & 4294967295), SUM(${CHECKSUM}), MAX(updated_at)`;

/**
 * Reads the fingerprints of a table, or returns those of `before` if the table is still the same: to group
 * the rows takes the server more than twice as long as the fingerprint of the whole table.
 * @param onDifference called before the rows are grouped
 */
export async function readFingerprintsUnless(
  before: Fingerprints,
  reader: Reader,
  table: TimedTable,
  onDifference: () => void,
): Promise<Fingerprints> {
  const [parts] = await reader.rows(`SELECT ${PARTS} FROM ${table}`);
  if (parts !== undefined && encodeParts(parts) === before.whole) return before;
  onDifference();
  return readFingerprints(reader, table, before.shift);
}

/** @throws Error if the ids cannot be divided into chunks; Error if the result is incomplete */
export async function readFingerprints(
  reader: Reader,
  table: TimedTable,
  shift: number,
): Promise<Fingerprints> {
  const chunks = new Map<number, string>();
  let last = -1;
  const rows = await reader.rows(
    `SELECT id >> ${shift} AS chunk, ${PARTS} FROM ${table} GROUP BY chunk ORDER BY chunk`,
  );
  const all: Row[] = [];
  for (const [chunk, ...parts] of rows) {
    last = Number(chunk);
    if (!Number.isSafeInteger(last) || chunks.has(last)) {
      throw new Error(`the ids of ${table} cannot be divided into chunks`);
    }
    chunks.set(last, encodeParts(parts));
    all.push(parts);
  }
  // KILL QUERY can cut a result, which then looks complete.
  const [[end = null] = []] = await reader.rows(`SELECT MAX(id) >> ${shift} FROM ${table}`);
  if (end !== null && Number(end) !== last) {
    throw new Error(`The fingerprints of ${table} end at chunk ${last} of ${end}.`);
  }
  return { shift, chunks, whole: encodeParts(addUp(all)) };
}

/** SUM returns NULL if all times are NULL, and a string beyond 2^53. */
function encodeParts([rows = 0, ids, checksums, latest = null]: Row): string {
  return JSON.stringify([rows, String(ids ?? 0), String(checksums ?? 0), latest]);
}

/** The parts of the fingerprint of a table, from those of its chunks. */
function addUp(chunks: readonly Row[]): Row {
  const sum = (part: number) =>
    chunks.reduce((total, parts) => total + BigInt(parts[part] ?? 0), 0n).toString();
  let latest: Value = null;
  for (const [, , , time = null] of chunks) {
    if (latest === null || (time !== null && time > latest)) latest = time;
  }
  return [Number(sum(0)), sum(1), sum(2), latest];
}

/** A range of ids, both ends included, as decimal digits. */
export interface IdRange {
  readonly first: string;
  readonly last: string;
}

export function idsOfChunk(chunk: number, shift: number): IdRange {
  const first = BigInt(chunk) << BigInt(shift);
  return { first: String(first), last: String(first + (1n << BigInt(shift)) - 1n) };
}

/** The numbers of the chunks that differ, ascending: those that changed, are new, or are gone. */
export function differingChunks(before: Fingerprints, after: Fingerprints): number[] {
  const numbers = new Set([...before.chunks.keys(), ...after.chunks.keys()]);
  return [...numbers]
    .filter((number) => before.chunks.get(number) !== after.chunks.get(number))
    .sort((a, b) => a - b);
}

/** How many rows the chunks have. */
export function rowsIn({ chunks }: Pick<Fingerprints, 'chunks'>): number {
  let rows = 0;
  for (const text of chunks.values()) rows += Number((JSON.parse(text) as Value[])[0]);
  return rows;
}

export function areEqual(before: Fingerprints, after: Fingerprints): boolean {
  return differingChunks(before, after).length === 0;
}
