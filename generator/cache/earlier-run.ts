/**
 * Opens what an earlier run has left for this one, and leaves the same for the next one: the row cache and
 * the generation that it belongs to. If either of them is missing, damaged or foreign, all rows are read.
 */
import type { Database } from '../../database/database.ts';
import type { TimedTable } from '../../database/schema.ts';
import type { Settings } from '../../format/manifest.ts';
import { generationDir } from '../../store/generations/generations.ts';
import type { Previous } from '../../store/publish.ts';
import type { EarlierRun } from '../reuse/cached-rows.ts';
import { openEarlierRecords } from '../reuse/earlier-records.ts';
import type { Catalogue } from '../write/read-all.ts';
import { type CachedValues, decodeRows, encodeRows } from './cached-rows.ts';
import { programVersion } from './program-version.ts';
import { type CacheOwner, readCache, writeCache } from './row-cache.ts';

/** A full run finds changes that `updated_at` does not show. */
const FULL_RUN_HOURS = 24;

interface Values extends CachedValues {
  readonly platforms: string;
  readonly alternativeTitles: string;
}

/** An earlier run, or why all rows must be read. */
export type FoundRun =
  | { readonly earlier: EarlierRun; readonly fullRunAt: number }
  | { readonly reason: string };

export type OwnerOf = (generation: string) => CacheOwner;

/** @returns a function that returns the owner of the cache that fits a generation */
export async function makeOwner(database: Database, settings: Settings): Promise<OwnerOf> {
  const identity = await database.identity();
  const program = programVersion();
  return (generation) => ({ generation, database: identity, settings, program });
}

/** @param now in milliseconds since 1970 */
export function findEarlierRun(
  snapshotsDir: string,
  { id, manifest }: Previous,
  ownerOf: OwnerOf,
  now = Date.now(),
): FoundRun {
  if (id === undefined) return { reason: 'there is no generation yet' };
  if (manifest === undefined) return { reason: 'the current generation cannot be read' };
  try {
    const { columns, values, fullRunAt } = readCache(snapshotsDir, ownerOf(id));
    const hours = (now - fullRunAt) / 3_600_000;
    if (!(hours >= 0 && hours < FULL_RUN_HOURS)) {
      return { reason: `the last full run was not within ${FULL_RUN_HOURS} hours` };
    }
    const { platforms, alternativeTitles, ...cached } = values as unknown as Values;
    const rows = decodeRows(columns, cached);
    const dir = generationDir(snapshotsDir, id);
    const records = openEarlierRecords(dir, manifest, rows.games, rows.covers);
    return { earlier: { rows, records, platforms, alternativeTitles }, fullRunAt };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

/**
 * Leaves what a run has read for the next one.
 * @param fullRunAt when all rows were read last
 */
export async function leaveForNextRun(
  snapshotsDir: string,
  owner: CacheOwner,
  { games, covers, files, forNextRun }: Catalogue,
  fullRunAt: number,
): Promise<void> {
  if (forNextRun === undefined) return;
  const { times, fingerprints, platforms, alternativeTitles } = forNextRun;
  const { columns, values } = encodeRows(games, covers, files, times, fingerprints);
  await writeCache(snapshotsDir, owner, {
    fullRunAt,
    values: { ...values, platforms, alternativeTitles },
    columns,
  });
}

/** Why a database cannot show which rows have changed; undefined if it can. */
export function whyUntimed(withoutUpdatedAt: readonly TimedTable[]): string | undefined {
  if (withoutUpdatedAt.length === 0) return undefined;
  const columns = withoutUpdatedAt.map((table) => `${table}.updated_at`);
  return `the database does not have ${columns.join(', ')}`;
}
