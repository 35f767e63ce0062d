/**
 * Finds out whether an earlier run would give the same generation again: no row is new, gone or changed,
 * and the rows that are read in every run are still the same. Then nothing needs to be written.
 */
import { createHash } from 'node:crypto';
import type { Reader } from '../../database/database.ts';
import { TIMED_TABLES, type TimedTable } from '../../database/schema.ts';
import type { AlternativeTitles, Games } from '../columns/catalogue.ts';
import { makeTextWriter } from '../columns/texts.ts';
import { makeReport, type ReportContent } from '../report/report.ts';
import type { EarlierRun } from '../reuse/cached-rows.ts';
import { type ReadPlan, readRows } from '../reuse/plan-read.ts';
import { makeRowsHash, TIME_COLUMN } from '../reuse/row-tracks.ts';
import { COVER_COLUMNS } from './read-covers.ts';
import { noGameTitles, readGameTitles } from './read-game-titles.ts';
import { readPlatforms } from './read-platforms.ts';
import { makeReadTable } from './read-table.ts';
import { FILE_COLUMNS, GAME_COLUMNS } from './records.ts';

const COLUMNS: Readonly<Record<TimedTable, string>> = {
  games: GAME_COLUMNS,
  covers: COVER_COLUMNS,
  cover_files: FILE_COLUMNS,
};

/** @param before the report of the generation that the earlier run has written */
export async function isNothingNew(
  reader: Reader,
  plans: Readonly<Record<TimedTable, ReadPlan>>,
  earlier: EarlierRun,
  hasGameTitles: boolean,
  before: ReportContent,
): Promise<boolean> {
  if (TIMED_TABLES.some((table) => plans[table].isChanged)) return false;
  // The other tables are small, and read in every run.
  const report = makeReport();
  const read = makeReadTable(reader, report, () => {});
  if ((await readPlatforms(read)).content !== earlier.platforms) return false;
  const { games } = earlier.rows;
  const titles = hasGameTitles ? await readGameTitles(read, report, games) : noGameTitles();
  if (hashTitles(games, titles) !== earlier.alternativeTitles) return false;
  const tables = ['platforms', ...(hasGameTitles ? ['game_titles'] : [])];
  const now = report.content();
  if (tables.some((table) => reportOf(table, now) !== reportOf(table, before))) return false;
  for (const table of TIMED_TABLES) {
    const hash = makeRowsHash();
    const columns = `${COLUMNS[table]}, ${TIME_COLUMN}`;
    for await (const row of readRows(reader, table, columns, plans[table].fresh)) hash.add(row);
    if (hash.end() === undefined || hash.end() !== earlier.unsettled[table]) return false;
  }
  return true;
}

/** What a report says about one table. */
function reportOf(table: string, { tables, rows, warnings = [] }: ReportContent): string {
  const isOfTable = (entry: { table: string | null }) => entry.table === table;
  return JSON.stringify([tables[table], rows.filter(isOfTable), warnings.filter(isOfTable)]);
}

/** The hash of all alternative titles with the ids of their games. */
export function hashTitles({ ids }: Games, { game, titles }: AlternativeTitles): string {
  const sha256 = createHash('sha256');
  const writer = makeTextWriter(titles);
  let bytes = Buffer.alloc(1024);
  game.forEach((row, title) => {
    const length = writer.lengthOf(title);
    if (bytes.length < length + 12) bytes = Buffer.alloc((length + 12) * 2);
    bytes.writeUInt32LE(ids.high[row], 0);
    bytes.writeUInt32LE(ids.low[row], 4);
    bytes.writeUInt32LE(length, 8);
    sha256.update(bytes.subarray(0, writer.put(bytes, 12, title)));
  });
  return sha256.digest('hex');
}
