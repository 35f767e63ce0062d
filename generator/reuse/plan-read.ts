/**
 * Plans what to read of a table: compares the fingerprints of its chunks, then the `updated_at` of each
 * row in the chunks that differ. Rows that cannot be known from an earlier run are always read again.
 */
import type { Reader } from '../../database/database.ts';
import { type TimedTable, UPDATED_AT } from '../../database/schema.ts';
import { firstIndex } from '../../format/index/first-index.ts';
import { compareIds, type Id, textOfId } from '../../format/index/ids.ts';
import type { Ids } from '../columns/ids.ts';
import { readId } from '../columns/ids.ts';
import {
  chunkOf,
  differingChunks,
  type Fingerprints,
  idsOfChunk,
  readFingerprints,
  rowsIn,
} from './fingerprints.ts';
import { rowTime } from './row-times.ts';

/** A table as an earlier run has read it, in the order of its ids. */
export interface CachedTable {
  readonly rows: number;
  readonly ids: Ids;
  /** The time of each row, or NaN for a row that must be read again. */
  readonly updated: Float64Array;
  readonly fingerprints: Fingerprints;
}

export interface ReadPlan {
  readonly cached: CachedTable;
  /** For each cached row: 1 if it is unchanged and need not be read, otherwise 0. */
  readonly isKnown: Uint8Array;
  /** The ids of the rows to read, ascending. */
  readonly fresh: Id[];
  /** Whether a row is new, gone, or has another time. The others to read may still be the same. */
  readonly isChanged: boolean;
  /** How many rows the table has now. */
  readonly rows: number;
  readonly fingerprints: Fingerprints;
}

/** To read more than this share of the rows one by one would take longer than to read all rows. */
const LARGEST_SHARE_READ = 0.2;
const FEWEST_ROWS_READ = 2_000;

/** @throws Error if too many rows have changed */
export async function planRead(
  reader: Reader,
  table: TimedTable,
  cached: CachedTable,
): Promise<ReadPlan> {
  const { shift } = cached.fingerprints;
  const fingerprints = await readFingerprints(reader, table, shift);
  const rows = rowsIn(fingerprints);
  const isKnown = new Uint8Array(cached.rows).fill(1);
  const fresh: Id[] = [];
  const differing = differingChunks(cached.fingerprints, fingerprints);
  const isDiffering = new Set(differing);
  for (let row = 0; row < cached.rows; row++) {
    if (!Number.isNaN(cached.updated[row])) continue;
    isKnown[row] = 0;
    const id = idOfRow(cached.ids, row);
    if (!isDiffering.has(chunkOf(id, shift))) fresh.push(id);
  }
  const most = Math.max(FEWEST_ROWS_READ, rows * LARGEST_SHARE_READ);
  let isChanged = false;
  for (const chunk of differing) {
    if (fresh.length > most) break;
    const differs = await compareChunk(reader, table, cached, fingerprints, chunk, isKnown, fresh);
    isChanged ||= differs;
  }
  if (fresh.length > most) {
    const percent = Math.round(LARGEST_SHARE_READ * 100);
    throw new Error(`more than ${percent} % of the rows of ${table} must be read`);
  }
  return { cached, isKnown, fresh: fresh.sort(compareIds), isChanged, rows, fingerprints };
}

export function idOfRow({ high, low }: Ids, row: number): Id {
  return [high[row], low[row]];
}

/** @returns whether a row is new, gone, or has another time */
async function compareChunk(
  reader: Reader,
  table: TimedTable,
  { rows: cachedRows, ids, updated, fingerprints: before }: CachedTable,
  after: Fingerprints,
  chunk: number,
  isKnown: Uint8Array,
  fresh: Id[],
): Promise<boolean> {
  const { first, last } = idsOfChunk(chunk, before.shift);
  const found = await reader.rows(
    `SELECT id, ${UPDATED_AT} || '' FROM ${table} WHERE id >= ${first} AND id <= ${last} ORDER BY id`,
  );
  const expected = rowsIn({
    shift: after.shift,
    chunks: new Map([[chunk, after.chunks.get(chunk) ?? '[0]']]),
  });
  if (found.length !== expected) {
    throw new Error(
      `Chunk ${chunk} of ${table} has ${expected} rows, but ${found.length} arrived.`,
    );
  }
  const chunkAt = (row: number) => chunkOf(idOfRow(ids, row), before.shift);
  let row = firstIndex(0, cachedRows, (at) => chunkAt(at) >= chunk);
  let isChanged = false;
  const passGone = () => {
    isChanged = true;
    isKnown[row++] = 0;
  };
  for (const [value, updatedAt] of found) {
    const id = readId(value);
    if (id === undefined) throw new Error(`${table} has the id ${value}`);
    while (row < cachedRows && compareIds(idOfRow(ids, row), id) < 0) passGone();
    const isCached = row < cachedRows && compareIds(idOfRow(ids, row), id) === 0;
    if (!isCached || updated[row] !== rowTime(updatedAt)) {
      fresh.push(id);
      // A row without a time is read again anyway.
      if (!isCached || !Number.isNaN(updated[row])) isChanged = true;
      if (isCached) isKnown[row] = 0;
    }
    if (isCached) row++;
  }
  while (row < cachedRows && chunkAt(row) === chunk) passGone();
  return isChanged;
}

const ROWS_PER_QUERY = 1_000;

/**
 * Reads rows by their ids, in ascending order.
 * @throws Error if a row is missing or stands twice
 */
export async function* readRows(
  reader: Reader,
  table: TimedTable,
  columns: string,
  ids: readonly Id[],
) {
  for (let from = 0; from < ids.length; from += ROWS_PER_QUERY) {
    const batch = ids.slice(from, from + ROWS_PER_QUERY);
    const list = batch.map(textOfId).join(',');
    const rows = await reader.rows(
      `SELECT ${columns} FROM ${table} WHERE id IN (${list}) ORDER BY id`,
    );
    if (rows.length !== batch.length) {
      throw new Error(`${batch.length} rows of ${table} were asked for, ${rows.length} came`);
    }
    yield* rows;
  }
}
