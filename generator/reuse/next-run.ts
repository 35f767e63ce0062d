/** What a run saves for the next one, so that it can find out what has changed. */
import type { Reader } from '../../database/database.ts';
import { TIMED_TABLES, type TimedTable } from '../../database/schema.ts';
import type { StoredColumn } from '../../format/index/columns.ts';
import type { Id } from '../../format/index/ids.ts';
import type { EarlierRun } from './earlier-run.ts';
import { chooseShift, type Fingerprints, readFingerprints } from './fingerprints.ts';
import type { UnsettledRows } from './plan-read.ts';
import type { ChangeTracking } from './row-tracks.ts';

export interface ForNextRun {
  readonly times: Readonly<Record<TimedTable, StoredColumn>>;
  /** The tables whose columns are those of the earlier run, so that the row cache has them already. */
  readonly sameTables: ReadonlySet<TimedTable>;
  readonly fingerprints: Readonly<Record<TimedTable, Fingerprints>>;
  readonly commits: EarlierRun['commits'];
  /** The rows that are always read again; see `EarlierRun.unsettled`. */
  readonly unsettled: Readonly<Partial<Record<TimedTable, UnsettledRows>>>;
  readonly platformsText: string;
  readonly alternativeTitlesHash: string;
}

/** For each table, the number of rows and the highest id. */
type ReadTables = Readonly<Record<TimedTable, { readonly rows: number; readonly lastId: Id }>>;

/** @returns undefined if a row has no usable id, so that the next run must read all rows */
export async function prepareNextRun(
  reader: Reader,
  { plans, tracks }: ChangeTracking,
  tables: ReadTables,
): Promise<Omit<ForNextRun, 'commits' | 'platformsText' | 'alternativeTitlesHash'> | undefined> {
  const times = {
    games: tracks.games.times(),
    covers: tracks.covers.times(),
    cover_files: tracks.cover_files.times(),
  };
  if (TIMED_TABLES.some((table) => tracks[table].rows() !== tables[table].rows)) return undefined;
  const fingerprint = (table: TimedTable): Promise<Fingerprints> | Fingerprints => {
    const { rows, lastId } = tables[table];
    const known = plans?.[table].fingerprints;
    return known ?? readFingerprints(reader, table, chooseShift(rows, lastId));
  };
  const fingerprints = {
    games: await fingerprint('games'),
    covers: await fingerprint('covers'),
    cover_files: await fingerprint('cover_files'),
  };
  const unsettled = Object.fromEntries(
    TIMED_TABLES.map((table) => [table, tracks[table].unsettled()]),
  );
  return { times, sameTables: findSameTables(tracks), fingerprints, unsettled };
}

/**
 * The tables whose columns are those of the earlier run. Covers and files also have the index of the row
 * that they refer to.
 */
export function findSameTables({
  games,
  covers,
  cover_files,
}: ChangeTracking['tracks']): Set<TimedTable> {
  const same = new Set<TimedTable>();
  if (games.isSame()) same.add('games');
  if (covers.isSame() && games.keepsIndexes()) same.add('covers');
  if (cover_files.isSame() && covers.keepsIndexes()) same.add('cover_files');
  return same;
}
