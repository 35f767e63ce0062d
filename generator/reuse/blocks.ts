/**
 * Blocks of rows. A block of games has the games whose ids are in a range, and the covers of these games. A block
 * of files has the files of the covers whose ids are in a range. So a row that is new, changed, moved or gone
 * shows in the block of its old parent, and in that of its new one.
 */
import { type Reader, selectCount } from '../../lib/database/database.ts';
import type { TimedTable } from '../../lib/database/schema.ts';
import type { Id } from '../../lib/format/index/ids.ts';
import { readId } from '../rows/ids.ts';

/**
 * What is grouped into blocks: the rows of three tables, and the ids of covers in the blocks of their files. A
 * file whose cover comes or goes is a fault that comes or goes, too.
 */
export const GROUPS = ['games', 'covers', 'cover_files', 'cover_ids'] as const;
export type Group = (typeof GROUPS)[number];

/** By table and column. The covers of a game, and the files of a cover, are in one block. */
export const GROUPED: Readonly<
  Record<Group, { table: TimedTable; column: string; by: 'game' | 'cover' }>
> = {
  games: { table: 'games', column: 'id', by: 'game' },
  covers: { table: 'covers', column: 'game_id', by: 'game' },
  cover_files: { table: 'cover_files', column: 'cover_id', by: 'cover' },
  cover_ids: { table: 'covers', column: 'id', by: 'cover' },
};

/** A block's number is that of its ids, shifted right by this many bits. */
export interface Shifts {
  readonly game: number;
  readonly cover: number;
}

/**
 * With smaller blocks, a run reads fewer rows that have not changed, and more fingerprints: with 300,000 games or
 * a million, of which 1 % have changed, blocks of 16 take half the time of a full run; with blocks of 40, as long as one.
 */
const ROWS_PER_BLOCK = 16;

/**
 * The shift at which most blocks have about as many rows as they should.
 * @param low the id that a quarter of the rows is below, and `high` one that a quarter is above: a few ids far
 * from the others must not make blocks larger
 */
export function chooseShift(rows: number, low: Id, high: Id): number {
  // Ids that are texts may be in another order.
  const ids = Math.max(1, (high[0] - low[0]) * 2 ** 32 + high[1] - low[1] + 1);
  const idsPerBlock = (ids / Math.max(1, rows / 2)) * ROWS_PER_BLOCK;
  return Math.min(60, Math.max(0, Math.round(Math.log2(idsPerBlock))));
}

/** The number of the block of an id. */
export function blockOf([high, low]: Id, shift: number): string {
  if (high === 0) return String(shift < 32 ? low >>> shift : 0);
  return String(((BigInt(high) << 32n) | BigInt(low)) >> BigInt(shift));
}

/** The shifts of the blocks of a run that reads all rows, and of the next ones. */
export async function chooseShifts(reader: Reader): Promise<Shifts> {
  const choose = async (table: string) => {
    const rows = await selectCount(reader, table);
    const idAt = async (share: number): Promise<Id> => {
      const [[id = null] = []] = await reader.rows(
        `SELECT id FROM ${table} ORDER BY id LIMIT 1 OFFSET ${Math.floor(rows * share)}`,
      );
      return readId(id) ?? [0, 0];
    };
    return chooseShift(rows, await idAt(0.25), await idAt(0.75));
  };
  return { game: await choose('games'), cover: await choose('covers') };
}

/** More ranges would make a statement of more than 100 KB. */
const RANGES_PER_QUERY = 200;

/** Conditions in SQL that choose the rows of blocks; each is short enough for one query. */
export function* rangesOf(
  group: Group,
  blocks: Iterable<string>,
  shifts: Shifts,
): Generator<string> {
  const { column, by } = GROUPED[group];
  const shift = BigInt(shifts[by]);
  const ranges: [first: bigint, last: bigint][] = [];
  let hasNull = false;
  const numbers: bigint[] = [];
  for (const block of blocks) {
    if (block === 'null') hasNull = true;
    else numbers.push(BigInt(block));
  }
  for (const number of numbers.sort((a, b) => (a < b ? -1 : 1))) {
    const first = number << shift;
    const last = ranges.at(-1);
    if (last?.[1] === first - 1n) last[1] = first + (1n << shift) - 1n;
    else ranges.push([first, first + (1n << shift) - 1n]);
  }
  const conditions = ranges.map(([first, last]) => `${column} BETWEEN ${first} AND ${last}`);
  if (hasNull) conditions.push(`${column} IS NULL`);
  for (let at = 0; at < conditions.length; at += RANGES_PER_QUERY) {
    yield `(${conditions.slice(at, at + RANGES_PER_QUERY).join(' OR ')})`;
  }
}
