/**
 * Saves what a run has read for the next one. The rows are written before the generation is published, so
 * that publishing does not need them in memory. They become the row cache once it is published.
 */
import type { TimedTable } from '../../database/schema.ts';
import { generationDir } from '../../store/generations/generations.ts';
import { readManifest } from '../../store/generations/manifest-file.ts';
import type { ReportContent } from '../report/report.ts';
import type { ReadRows } from '../write/read-catalogue.ts';
import type { CacheKey } from './cache-key.ts';
import { encodeTable, encodeValues } from './cached-rows.ts';
import { fileState } from './file-state.ts';
import {
  type CacheContent,
  discardTables,
  replaceCache,
  type StoredCache,
  type WrittenTables,
  writeTables,
} from './row-cache.ts';

/** Rows that are on disk, but not in the row cache yet. */
export interface SavedRows {
  /**
   * Makes them the row cache.
   * @param key of the generation that was written from them, which is current now
   * @param fullRunAt when all rows were read last
   */
  keep(key: CacheKey, fullRunAt: number): Promise<void>;
  /** Removes them, unless they were kept. */
  discard(): void;
}

/**
 * @param before the cache of the earlier run; undefined if all rows were read
 * @returns undefined if the next run must read all rows
 */
export async function saveRows(
  snapshotsDir: string,
  rows: ReadRows,
  report: ReportContent,
  before: StoredCache | undefined,
): Promise<SavedRows | undefined> {
  const { games, covers, forNextRun } = rows;
  if (forNextRun === undefined) return undefined;
  const { times, sameTables } = forNextRun;
  const columnsOf = (table: TimedTable) =>
    sameTables.has(table) ? undefined : encodeTable(table, rows, times[table]);
  try {
    const tables = await writeTables(snapshotsDir, columnsOf, before);
    const values = encodeValues(games, covers, forNextRun);
    return makeSavedRows(snapshotsDir, tables, { values, report });
  } catch (error) {
    // On a full disk, publishing needs the space.
    discard(snapshotsDir);
    throw error;
  }
}

function discard(snapshotsDir: string): void {
  try {
    discardTables(snapshotsDir);
  } catch {
    // The run goes on, and the next one removes them.
  }
}

// A function of its own: what it returns must not keep the rows in memory.
function makeSavedRows(
  snapshotsDir: string,
  tables: WrittenTables,
  content: Pick<CacheContent, 'values' | 'report'>,
): SavedRows {
  return {
    async keep(key, fullRunAt) {
      const dir = generationDir(snapshotsDir, key.generation);
      const { files } = readManifest(dir);
      const fileStates = Object.fromEntries(files.map((file) => [file.path, fileState(dir, file)]));
      await replaceCache(snapshotsDir, key, { ...content, fullRunAt, fileStates }, tables);
    },
    discard: () => discard(snapshotsDir),
  };
}
