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
import { chunkOf, differingChunks, type Fingerprints, idsOfChunk, rowsIn } from './fingerprints.ts';
import { rowTime } from './row-times.ts';

/** A table as an earlier run has read it, in the order of its ids. */
export interface CachedTable {
  readonly rows: number;
  readonly ids: Ids;
  /** The time of each row in seconds since 1970, or NaN for a row that must be read again. */
  readonly updated: Float64Array;
}

/** Rows that the next run must read again, to find out whether they are still the same. */
export interface UnsettledRows {
  /** In decimal digits, ascending. */
  readonly ids: readonly string[];
  /** See `makeRowsHash`. */
  readonly hash: string;
}

/** What a plan needs to know about a table as an earlier run has read it. */
export interface EarlierTable {
  readonly fingerprints: Fingerprints;
  /** The rows that are always read again; undefined if they are too many. */
  readonly unsettled: UnsettledRows | undefined;
  /** Only called if it is needed. */
  open(): CachedTable;
}

export interface ReadPlan {
  /** Opens the table, unless it is open. */
  cached(): CachedTable;
  /** For each cached row: 1 if it is unchanged and need not be read, otherwise 0. */
  readonly isKnown: Uint8Array;
  /** The ids of the rows to read, ascending. */
  readonly fresh: Id[];
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
  earlier: EarlierTable,
  fingerprints: Fingerprints,
): Promise<ReadPlan> {
  const { shift } = fingerprints;
  const rows = rowsIn(fingerprints);
  const fresh: Id[] = [];
  const differing = differingChunks(earlier.fingerprints, fingerprints);
  if (differing.length === 0 && earlier.unsettled?.ids.length === 0) {
    const isKnown = new Uint8Array(rows).fill(1);
    return { cached: earlier.open, isKnown, fresh, rows, fingerprints };
  }
  const cached = earlier.open();
  const isKnown = new Uint8Array(cached.rows).fill(1);
  const plan: ReadPlan = { cached: earlier.open, isKnown, fresh, rows, fingerprints };
  const isDiffering = new Set(differing);
  for (let row = 0; row < cached.rows; row++) {
    if (!Number.isNaN(cached.updated[row])) continue;
    isKnown[row] = 0;
    const id = idOfRow(cached.ids, row);
    if (!isDiffering.has(chunkOf(id, shift))) fresh.push(id);
  }
  const most = Math.max(FEWEST_ROWS_READ, rows * LARGEST_SHARE_READ);
  for (const chunk of differing) {
    if (fresh.length > most) break;
    await compareChunk(reader, table, plan, chunk);
  }
  if (fresh.length > most) {
    const percent = Math.round(LARGEST_SHARE_READ * 100);
    throw new Error(`more than ${percent} % of the rows of ${table} must be read`);
  }
  fresh.sort(compareIds);
  return plan;
}

export function idOfRow({ high, low }: Ids, row: number): Id {
  return [high[row], low[row]];
}

/** Whether all rows are known, and none is gone. */
export function isUnchanged({ isKnown, fresh }: ReadPlan): boolean {
  return fresh.length === 0 && !isKnown.includes(0);
}

/**
 * Finds the rows of a chunk that are new, gone, or have another time. Updates `plan.isKnown` and
 * `plan.fresh`.
 */
async function compareChunk(
  reader: Reader,
  table: TimedTable,
  plan: ReadPlan,
  chunk: number,
): Promise<void> {
  const { isKnown, fresh } = plan;
  const { rows: cachedRows, ids, updated } = plan.cached();
  const { shift, chunks } = plan.fingerprints;
  const { first, last } = idsOfChunk(chunk, shift);
  const found = await reader.rows(
    `SELECT id, ${UPDATED_AT} || '' FROM ${table} WHERE id >= ${first} AND id <= ${last} ORDER BY id`,
  );
  const expected = rowsIn({ chunks: new Map([[chunk, chunks.get(chunk) ?? '[0]']]) });
  if (found.length !== expected) {
    throw new Error(
      `Chunk ${chunk} of ${table} has ${expected} rows, but ${found.length} arrived.`,
    );
  }
  const chunkAt = (row: number) => chunkOf(idOfRow(ids, row), shift);
  let row = firstIndex(0, cachedRows, (at) => chunkAt(at) >= chunk);
  for (const [value, updatedAt] of found) {
    const id = readId(value);
    if (id === undefined) throw new Error(`${table} has the id ${value}`);
    while (row < cachedRows && compareIds(idOfRow(ids, row), id) < 0) isKnown[row++] = 0;
    const isCached = row < cachedRows && compareIds(idOfRow(ids, row), id) === 0;
    if (!isCached || updated[row] !== rowTime(updatedAt)) {
      fresh.push(id);
      if (isCached) isKnown[row] = 0;
    }
    if (isCached) row++;
  }
  while (row < cachedRows && chunkAt(row) === chunk) isKnown[row++] = 0;
}

const ROWS_PER_QUERY = 1_000;

/**
 * Reads rows by their ids, in ascending order.
 * @throws Error if a row is missing or appears twice
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
