/**
 * Opens what an earlier run has left for this one, and leaves the same for the next one: the row cache and
 * the generation that it belongs to. If either of them is missing, damaged or foreign, all rows are read.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import type { TimedTable } from '../../database/schema.ts';
import { REPORT } from '../../format/layout.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import { generationDir } from '../../store/generations/generations.ts';
import { readManifest } from '../../store/generations/manifest-file.ts';
import type { Previous } from '../../store/publish.ts';
import type { ReportContent } from '../report/report.ts';
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
  readonly unsettled: EarlierRun['unsettled'];
  /** For each file of the generation, what shows that it is still the same one; see `fileStates`. */
  readonly fileStates: Readonly<Record<string, string>>;
}

/** An earlier run, or why all rows must be read. */
export type FoundRun =
  | {
      readonly earlier: EarlierRun;
      readonly fullRunAt: number;
      /** The report of its generation. */
      readonly reportBefore: ReportContent;
    }
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
    const { platforms, alternativeTitles, unsettled, fileStates, ...cached } =
      values as unknown as Values;
    const dir = generationDir(snapshotsDir, id);
    const changed = manifest.files.find((file) => fileStates[file.path] !== fileState(dir, file));
    if (changed !== undefined) {
      return { reason: `${changed.path} of the current generation was touched` };
    }
    const rows = decodeRows(columns, cached);
    const reportBefore: ReportContent = {
      warnings: [],
      ...JSON.parse(readFileSync(path.join(dir, REPORT), 'utf8')),
    };
    const records = openEarlierRecords(dir, manifest, rows.games, rows.covers);
    const earlier = { rows, records, platforms, alternativeTitles, unsettled };
    return { earlier, fullRunAt, reportBefore };
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
  const { times, fingerprints, platforms, alternativeTitles, unsettled } = forNextRun;
  const { columns, values } = encodeRows(games, covers, files, times, fingerprints);
  const dir = generationDir(snapshotsDir, owner.generation);
  const { files: written } = readManifest(dir);
  const fileStates = Object.fromEntries(written.map((file) => [file.path, fileState(dir, file)]));
  await writeCache(snapshotsDir, owner, {
    fullRunAt,
    values: { ...values, platforms, alternativeTitles, unsettled, fileStates },
    columns,
  });
}

/**
 * What changes if somebody writes to a file or replaces it: its device, inode, size and modification time.
 * All files are hashed again in each full run, because a disk can damage a file without changing these.
 */
function fileState(dir: string, { path: name }: ManifestFile): string | undefined {
  const file = path.join(dir, name);
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats && [stats.dev, stats.ino, stats.size, stats.mtimeNs].join(' ');
}

/** Why a database cannot show which rows have changed; undefined if it can. */
export function whyUntimed(withoutUpdatedAt: readonly TimedTable[]): string | undefined {
  if (withoutUpdatedAt.length === 0) return undefined;
  const columns = withoutUpdatedAt.map((table) => `${table}.updated_at`);
  return `the database does not have ${columns.join(', ')}`;
}
