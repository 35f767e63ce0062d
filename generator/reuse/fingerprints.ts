/**
 * Fingerprints of the chunks of a table. The server computes them over `id` and `updated_at`, in SQL that
 * MySQL, MariaDB and SQLite understand. A chunk is a range of ids; a row is only read again if the
 * fingerprint of its chunk has changed.
 *
 * What they show: a deleted row changes the number of rows; a changed or new row has a later `updated_at`,
 * which changes the latest one. Where a later time of another row hides that (a transaction that commits
 * late) or where rows come and go at once, the sums of the ids and of the checksums differ, except by a
 * chance of about one in 2^32. A row whose `updated_at` stays the same is not seen.
 */
import type { Reader, Value } from '../../database/database.ts';
import type { TimedTable } from '../../database/schema.ts';
import type { Id } from '../../format/index/ids.ts';

/** The fingerprint of each chunk that has rows, by the chunk's number: that of its ids >> `shift`. */
export interface Fingerprints {
  readonly shift: number;
  readonly chunks: ReadonlyMap<number, string>;
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

/** @throws Error if the ids cannot be divided into chunks; Error if the result is incomplete */
export async function readFingerprints(
  reader: Reader,
  table: TimedTable,
  shift: number,
): Promise<Fingerprints> {
  const chunks = new Map<number, string>();
  let last = -1;
  const rows = await reader.rows(
    `SELECT id >> ${shift} AS chunk, COUNT(*), SUM(id & 4294967295),
        SUM(CRC32(id || ' ' || updated_at)), MAX(updated_at)
      FROM ${table} GROUP BY chunk ORDER BY chunk`,
  );
  for (const [chunk, ...parts] of rows) {
    last = Number(chunk);
    if (!Number.isSafeInteger(last) || chunks.has(last)) {
      throw new Error(`the ids of ${table} cannot be divided into chunks`);
    }
    chunks.set(last, JSON.stringify(parts));
  }
  // KILL QUERY can cut a result, which then looks complete.
  const [[end = null] = []] = await reader.rows(`SELECT MAX(id) >> ${shift} FROM ${table}`);
  if (end !== null && Number(end) !== last) {
    throw new Error(`The fingerprints of ${table} end at chunk ${last} of ${end}.`);
  }
  return { shift, chunks };
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

/** How many rows a table has. */
export function rowsIn({ chunks }: Fingerprints): number {
  let rows = 0;
  for (const text of chunks.values()) rows += Number((JSON.parse(text) as Value[])[0]);
  return rows;
}
