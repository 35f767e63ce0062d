/**
 * The stages of a run up to its files, in one consistent snapshot of the database: read and check rows, make one
 * catalogue of these and of what is kept of the earlier run, order and number it, write it. A full run is one in
 * which nothing is kept.
 */

import type { Database } from '../lib/database/database.ts';
import type { Optional } from '../lib/database/schema.ts';
import { textOfId } from '../lib/format/index/ids.ts';
import type { Progress } from '../lib/program/progress.ts';
import { numberRecords } from './order/numbering.ts';
import {
  checkIds,
  checkTitles,
  type OptionalRows,
  readOptionalTables,
} from './read/optional-tables.ts';
import { countNotPublic, readPlatforms, readRows, type Source } from './read/read-catalogue.ts';
import { type Conditions, makeReadTable } from './read/read-table.ts';
import { type DatedCover, findFutureApprovals, isInFuture } from './report/warnings.ts';
import type { RowsOfRun } from './reuse/earlier-run.ts';
import { readLastCommits } from './reuse/find-changes.ts';
import { beginReuse, type Reuse, type ReuseOptions } from './reuse/reuse.ts';
import type { Covers } from './rows/catalogue.ts';
import { idOf } from './rows/ids.ts';
import { Output } from './write/file-writer.ts';
import { type Written, writeGeneration } from './write/write-generation.ts';

export interface ReadOptions extends Optional, ReuseOptions {
  /** To read only a part of the catalogue; by default, all of it. */
  readonly conditions?: Conditions | undefined;
  readonly progress: Progress;
}

export interface ReadResult {
  /** Undefined if nothing has changed since the earlier run. */
  readonly written: Written | undefined;
  /** What the next run needs; undefined if it must read all rows, or if that is there already. */
  readonly rows: RowsOfRun | undefined;
}

/** @throws PathTaken if another block must be read, too; any other Error if not all rows were read */
export async function readAndWrite(database: Database, options: ReadOptions): Promise<ReadResult> {
  const commits = await readLastCommits(database);
  return database.snapshot(async (reader) => {
    const { report, progress } = options;
    const readTable = makeReadTable(
      reader,
      report,
      (table, rows, share) => progress.advance(`reading ${table}`, rows, share),
      options.conditions,
    );
    report.setNotPublic(await countNotPublic(reader, options.conditions?.covers));
    const platforms = await readPlatforms(readTable);
    const optional = await readOptionalTables(readTable, options.optionalTables);
    const reuse = await beginReuse(reader, options, { platforms, optional, commits });
    if (reuse === undefined) return { written: undefined, rows: undefined };
    const filesUrl = options.settings.files_url;
    const source = { reader, readTable, report, platforms, filesUrl, scope: reuse.scope };
    return joinAndWrite(source, optional, reuse, options).finally(reuse.close);
  });
}

async function joinAndWrite(
  source: Source,
  optional: OptionalRows,
  reuse: Reuse,
  { report, progress, dir, earlier }: ReadOptions,
): Promise<ReadResult> {
  const rows = await readRows(source);
  const isPublished = reuse.isPublished(rows.games);
  const titles = checkTitles(optional, report, isPublished);
  const externalIds = checkIds(optional, report, source.platforms, isPublished);
  const catalogue = reuse.join(rows);
  const now = Date.now() / 1000;
  const future = catalogue ? approvedAfter(catalogue.covers, now) : (earlier?.future ?? []);
  report.addWarnings(findFutureApprovals(future, now));
  if (catalogue === undefined)
    return { written: undefined, rows: await reuse.leave(future, undefined) };
  progress.step('writing packs');
  const numbered = { ...catalogue, numbering: numberRecords(catalogue) };
  const output = new Output(dir);
  const written = await writeGeneration(output, { ...numbered, titles, externalIds });
  return { written, rows: await reuse.leave(future, numbered) };
}

function approvedAfter({ byId, approvedAt, ids }: Covers, now: number): DatedCover[] {
  const found: DatedCover[] = [];
  for (const cover of byId)
    if (isInFuture(approvedAt[cover], now))
      found.push([approvedAt[cover], textOfId(idOf(ids, cover))]);
  return found;
}
