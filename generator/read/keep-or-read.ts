/**
 * Keeps the rows of a table that has not changed since an earlier run, or reads those that have changed.
 * Kept games and covers stay in the memory in which they were opened; kept files, the largest table, are
 * not even opened.
 */
import type { Reader } from '../../database/database.ts';
import type { TimedTable } from '../../database/schema.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { type Covers, type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { openRecords } from '../reuse/earlier-records.ts';
import type { EarlierRun } from '../reuse/earlier-run.ts';
import { type CachedTable, isUnchanged, type ReadPlan } from '../reuse/plan-read.ts';
import { earlierNumber } from '../reuse/reuse.ts';
import { isSettled } from '../reuse/row-times.ts';
import { type ChangeTracking, type Relation, rowOfCached } from '../reuse/row-tracks.ts';
import type { CachedCovers } from './read-covers.ts';
import { type CachedFiles, type Files, findCoversToRead } from './read-files.ts';
import type { CachedGames } from './read-games.ts';

/** An earlier run, and what has changed since. */
export interface SinceEarlierRun {
  readonly earlier: EarlierRun;
  readonly tracking: ChangeTracking;
  readonly plans: Readonly<Record<TimedTable, ReadPlan>>;
  /** How the games and covers of both runs relate, once they are read. */
  readonly relations: { games(): Relation; covers(): Relation };
  /** Records that all rows of a table are kept. */
  keep(table: TimedTable, rows: number): void;
}

/** @param sinceEarlier undefined if all rows are read; otherwise, the platforms must be the same */
export async function keepOrReadGames(
  sinceEarlier: SinceEarlierRun | undefined,
  read: (cached?: CachedGames) => Promise<Games>,
): Promise<Games> {
  if (sinceEarlier === undefined) return read();
  const { earlier, tracking, plans, keep } = sinceEarlier;
  const { games, tables } = earlier.rows();
  if (!isUnchanged(plans.games) || !areSettled(tables.games, tracking)) {
    return read({ games, isKnown: plans.games.isKnown, rowOf: earlier.openPaths() });
  }
  keep('games', games.rows);
  // The heads are in the records of the earlier run, not in a spill file.
  return { ...games, headStart: sharedZeros(Float64Array, games.rows) };
}

/** @param games those of this run */
export async function keepOrReadCovers(
  sinceEarlier: SinceEarlierRun | undefined,
  games: Games,
  read: (cached?: CachedCovers) => Promise<Covers>,
): Promise<Covers> {
  if (sinceEarlier === undefined) return read();
  const { earlier, tracking, plans, relations, keep } = sinceEarlier;
  const { covers, tables, games: cachedGames } = earlier.rows();
  const isKept = (game: number) => game === LEFT_OUT || games.platform[game] !== LEFT_OUT;
  const canKeep =
    isUnchanged(plans.covers) &&
    areSettled(tables.covers, tracking) &&
    // Covers refer to games by row, so no game may have moved.
    tracking.tracks.games.keepsIndexes() &&
    covers.game.every(isKept);
  if (!canKeep) {
    const relation = relations.games();
    const rowOfGame = (cachedRow: number) => rowOfCached(relation, cachedRow);
    return read({ covers, games: cachedGames, rowOfGame });
  }
  keep('covers', covers.rows);
  return covers;
}

/**
 * @param numberOfCover for each row of a cover, its number, or LEFT_OUT
 * @returns `mustRead`: for each row of a cover, 1 if its files were read; undefined if all were
 */
export async function keepOrReadFiles(
  sinceEarlier: SinceEarlierRun | undefined,
  reader: Reader,
  covers: Covers,
  numberOfCover: Uint32Array,
  read: (cached?: CachedFiles) => Promise<Files>,
): Promise<{ readonly files: Files; readonly mustRead: Uint8Array | undefined }> {
  if (sinceEarlier === undefined) return { files: await read(), mustRead: undefined };
  const { earlier, tracking, plans, relations, keep } = sinceEarlier;
  const plan = plans.cover_files;
  const relation = relations.covers();
  const earlierFiles = {
    plan,
    open: earlier.files,
    coverIds: () => earlier.rows().covers.ids,
    rowOfCover: (cachedRow: number) => rowOfCached(relation, cachedRow),
  };
  const numberBefore = (row: number) =>
    earlierNumber(earlier.records().covers.numberOf, relation, row);
  const isNew = (row: number) => numberBefore(row) === LEFT_OUT;
  const mustRead = await findCoversToRead(reader, covers, numberOfCover, isNew, earlierFiles);
  // Files refer to covers by row, so no cover may have moved.
  if (!isUnchanged(plan) || !tracking.tracks.covers.keepsIndexes()) {
    return { files: await read({ ...earlierFiles, mustRead }), mustRead };
  }
  keep('cover_files', plan.rows);
  const published =
    earlier.publishedFiles - countGone(sinceEarlier, covers, numberOfCover, numberBefore);
  return {
    files: { rows: plan.rows, lastId: [0, 0], columns: undefined, published },
    mustRead,
  };
}

/** The number of files of the covers that are not published any more. */
function countGone(
  { earlier }: SinceEarlierRun,
  covers: Covers,
  numberOfCover: Uint32Array,
  numberBefore: (row: number) => number,
): number {
  const records = earlier.records();
  const reader = openRecords(records, 'covers', records.covers);
  let gone = 0;
  for (let row = 0; row < covers.rows; row++) {
    const before = numberBefore(row);
    if (before === LEFT_OUT || numberOfCover[row] !== LEFT_OUT) continue;
    gone += (JSON.parse(reader.read(before).toString()) as { files: unknown[] }).files.length;
  }
  reader.close();
  return gone;
}

/** Whether no time is so recent that the row must be read again: only if the clock was set back. */
function areSettled({ updated }: CachedTable, { now }: ChangeTracking): boolean {
  return updated.every((time) => isSettled(time, now));
}
