/**
 * The stages of a run up to its files, in one consistent snapshot of the database: read and check rows, make one
 * catalogue of these and of what is kept of the earlier run, order and number it, write it. A full run is one in
 * which nothing is kept.
 */

import type { Database } from '../lib/database/database.ts';
import type { OptionalSchema } from '../lib/database/schema.ts';
import type { Progress } from '../lib/program/progress.ts';
import { numberRecords } from './order/numbering.ts';
import type { OptionalRows } from './read/optional-tables.ts';
import { checkIds, checkTitles, readOptionalTables } from './read/optional-tables.ts';
import { readPlatforms, readRows, type Source } from './read/read-catalogue.ts';
import { makeReadTable } from './read/read-table.ts';
import type { ForNextRun } from './reuse/earlier-run.ts';
import { readLastCommits } from './reuse/find-changes.ts';
import { beginReuse, type Reuse, type ReuseOptions } from './reuse/reuse.ts';
import { Output } from './write/file-writer.ts';
import { type Written, writeGeneration } from './write/write-generation.ts';

interface ReadOptions extends OptionalSchema, ReuseOptions {
  readonly progress: Progress;
}

interface ReadResult {
  /** Undefined if nothing has changed since the earlier run. */
  readonly written: Written | undefined;
  /** Undefined if nothing is to be saved. */
  readonly forNextRun: ForNextRun | undefined;
}

/** @throws Error if not all rows were read that are needed */
export async function readAndWrite(database: Database, options: ReadOptions): Promise<ReadResult> {
  const commits = await readLastCommits(database);
  return database.snapshot(async (reader) => {
    const { report, progress, part } = options;
    const readTable = makeReadTable(reader, report, progress);
    const platforms = await readPlatforms(readTable);
    const optional = await readOptionalTables(readTable, part ? [] : options.optionalTables);
    const reuse = await beginReuse(reader, options, platforms, optional, commits);
    // Not one block differs, so what the earlier run has saved is still right.
    if (reuse === undefined) return { written: undefined, forNextRun: undefined };
    const filesUrl = options.settings.files_url;
    const source = { reader, readTable, report, platforms, filesUrl, scope: reuse.scope };
    return joinAndWrite(source, optional, reuse, options).finally(reuse.close);
  });
}

async function joinAndWrite(
  source: Source,
  optional: OptionalRows,
  reuse: Reuse,
  { report, progress, dir }: ReadOptions,
): Promise<ReadResult> {
  const rows = await readRows(source);
  const isPublished = reuse.isPublished(rows.games);
  const titles = checkTitles(optional, report, isPublished);
  const externalIds = checkIds(optional, report, source.platforms, isPublished);
  const catalogue = reuse.join(rows);
  // Rows were read and give the same files, but their fingerprints are new: the next run need not read them again.
  if (catalogue === undefined)
    return { written: undefined, forNextRun: await reuse.forNextRun(undefined) };
  progress.step('writing packs');
  const numbered = { ...catalogue, numbering: numberRecords(catalogue) };
  const output = new Output(dir);
  const written = await writeGeneration(output, { ...numbered, titles, externalIds });
  return { written, forNextRun: await reuse.forNextRun(numbered) };
}
