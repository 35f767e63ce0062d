/**
 * Finds what an earlier run has saved for this one: the row cache, and the generation that it belongs to. If
 * either of them is missing, damaged or does not fit, all rows are read.
 */
import type { Manifest } from '../../format/manifest.ts';
import { generationDir } from '../../store/generations/generations.ts';
import type { Previous } from '../../store/publish.ts';
import { openEarlierPaths, openEarlierRecords } from '../reuse/earlier-records.ts';
import type { EarlierRun } from '../reuse/earlier-run.ts';
import type { KeyOf } from './cache-key.ts';
import { decodeFileRows, decodeFingerprints, decodeRows } from './cached-rows.ts';
import { fileState } from './file-state.ts';
import { openCache, type StoredCache } from './row-cache.ts';

/** A full run finds changes that `updated_at` does not show. */
const FULL_RUN_HOURS = 24;

/** An earlier run, or why all rows must be read. */
export type FoundRun =
  | {
      readonly earlier: EarlierRun;
      readonly fullRunAt: number;
      readonly cache: StoredCache;
    }
  | { readonly reason: string };

/** @param now in milliseconds since 1970 */
export function findEarlierRun(
  snapshotsDir: string,
  { id, manifest }: Previous,
  keyOf: KeyOf,
  now = Date.now(),
): FoundRun {
  if (id === undefined) return { reason: 'there is no generation yet' };
  if (manifest === undefined) return { reason: 'the current generation cannot be read' };
  try {
    const cache = openCache(snapshotsDir, keyOf(id));
    const { fileStates, fullRunAt } = cache;
    const hours = (now - fullRunAt) / 3_600_000;
    if (!(hours >= 0 && hours < FULL_RUN_HOURS)) {
      return { reason: `the last full run was not within ${FULL_RUN_HOURS} hours` };
    }
    const dir = generationDir(snapshotsDir, id);
    const touched = manifest.files.find((file) => {
      const state = fileState(dir, file);
      return state === undefined || state !== fileStates[file.path];
    });
    if (touched !== undefined) {
      return { reason: `${touched.path} of the current generation was touched` };
    }
    return { earlier: openEarlierRun(dir, manifest, cache), fullRunAt, cache };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function openEarlierRun(
  dir: string,
  manifest: Manifest,
  { open, values, report }: StoredCache,
): EarlierRun {
  const { commits, platformsText, alternativeTitlesHash, unsettled } = values;
  const rows = once(() => decodeRows(open, values));
  const files = once(() => decodeFileRows(open));
  const records = once(() => {
    const { games, covers } = rows.get();
    return openEarlierRecords(dir, manifest.files, games, covers);
  });
  return {
    dir,
    manifestFiles: manifest.files,
    report,
    publishedFiles: manifest.counts.cover_files,
    fingerprints: decodeFingerprints(values),
    commits,
    platformsText,
    alternativeTitlesHash,
    unsettled,
    rows: rows.get,
    files: files.get,
    records: records.get,
    openPaths: () => openEarlierPaths(records.get()),
    forgetRows: rows.forget,
    forgetRecords: records.forget,
    forgetFiles: files.forget,
    latestApproval: Date.parse(manifest.latest_cover_at ?? ''),
  };
}

/** @returns `get`, which returns what its first call has made; `forget`, after which it is made again */
function once<T>(make: () => T) {
  let made: { readonly value: T } | undefined;
  return {
    get(): T {
      made ??= { value: make() };
      return made.value;
    },
    forget(): void {
      made = undefined;
    },
  };
}
