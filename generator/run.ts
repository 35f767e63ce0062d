/**
 * The stages of a run up to its files, each of which takes what the one before returns, in one consistent snapshot
 * of the database: read the tables that are small, plan which rows are read, read and check them, join them with
 * what is kept of the earlier run, number, write, and collect what the next run needs. A full run is one in which
 * nothing is kept.
 */

import type { Database } from '../lib/database/database.ts';
import type { OptionalSchema } from '../lib/database/schema.ts';
import type { Progress } from '../lib/program/progress.ts';
import { numberRecords } from './order/numbering.ts';
import { readOptionalTables } from './read/optional-tables.ts';
import { readPlatforms, readRows } from './read/read-catalogue.ts';
import { makeReadTable } from './read/read-table.ts';
import type { ForNextRun } from './reuse/earlier-run.ts';
import { readLastCommits } from './reuse/find-changes.ts';
import { joinCatalogue, keptValuesOf } from './reuse/join.ts';
import { collectForNextRun, type PlanOptions, planRun } from './reuse/plan.ts';
import { findWarnings } from './warnings.ts';
import { Output } from './write/file-writer.ts';
import { type Written, writeGeneration } from './write/write-generation.ts';

interface ReadOptions extends OptionalSchema, PlanOptions {
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
  const { report, progress, part, settings, earlier } = options;
  const commits = await readLastCommits(database);
  return database.snapshot(async (reader) => {
    const readTable = makeReadTable(reader, report, progress);
    const platforms = await readPlatforms(readTable);
    const optional = await readOptionalTables(readTable, part ? [] : options.optionalTables);
    const plan = await planRun(reader, options, { platforms, optional, commits });
    // Not one block differs, so what the earlier run has saved is still right.
    if (plan === undefined) {
      report.addWarnings(earlier?.warnings ?? []);
      return { written: undefined, forNextRun: undefined };
    }
    const { scope, stored } = plan;
    try {
      const filesUrl = settings.files_url;
      const reading = { reader, readTable, report, platforms, optional, filesUrl, scope };
      const rows = await readRows(reading);
      const catalogue = joinCatalogue(plan, rows, platforms.platforms, options);
      // Rows were read and give the same files, but their fingerprints are new: the next run need not read them again.
      if (catalogue === undefined) {
        report.addWarnings(earlier?.warnings ?? []);
        const forNextRun = await collectForNextRun(reader, options, plan, earlier);
        return { written: undefined, forNextRun };
      }
      progress.step('writing packs');
      const numbered = { ...catalogue, numbering: numberRecords(catalogue) };
      const written = await writeGeneration(new Output(options.dir), numbered);
      // Those of a part would not be those of the whole.
      const warnings = part === undefined ? findWarnings(numbered) : [];
      report.addWarnings(warnings);
      const kept = { ...keptValuesOf(numbered), warnings };
      return { written, forNextRun: await collectForNextRun(reader, options, plan, kept) };
    } finally {
      stored?.close();
    }
  });
}
