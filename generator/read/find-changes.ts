/**
 * Finds out what has changed since an earlier run. If no row is new, gone or changed, and the rows that are
 * read in every run are still the same, nothing needs to be written.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Reader, SnapshotReader } from '../../database/database.ts';
import { TIMED_TABLES, type TimedTable } from '../../database/schema.ts';
import { splitId } from '../../format/index/ids.ts';
import type { AlternativeTitles, Games } from '../columns/catalogue.ts';
import type { MakeStoredColumn } from '../columns/stored-column.ts';
import { makeTextWriter } from '../columns/texts.ts';
import { makeReport, type ReportContent } from '../report/report.ts';
import { hadCommit, readLastCommits } from '../reuse/commits.ts';
import type { EarlierRun } from '../reuse/earlier-run.ts';
import {
  areEqual,
  type Fingerprints,
  readFingerprints,
  readFingerprintsUnless,
} from '../reuse/fingerprints.ts';
import { planRead, type ReadPlan, readRows } from '../reuse/plan-read.ts';
import { rowTime } from '../reuse/row-times.ts';
import {
  type ChangeTracking,
  makeChangeTracking,
  makeRowsHash,
  TIME_COLUMN,
} from '../reuse/row-tracks.ts';
import { COVER_COLUMNS } from './read-covers.ts';
import { readGameTitles } from './read-game-titles.ts';
import { readPlatforms } from './read-platforms.ts';
import { makeReadTable } from './read-table.ts';
import { FILE_COLUMNS, GAME_COLUMNS } from './records.ts';

const COLUMNS: Readonly<Record<TimedTable, string>> = {
  games: GAME_COLUMNS,
  covers: COVER_COLUMNS,
  cover_files: FILE_COLUMNS,
};

/**
 * @param earlier undefined if all rows are to be read
 * @param storeColumn creates the columns for the row cache
 * @throws Error if so much has changed that all rows should be read
 */
export async function findChanges(
  reader: SnapshotReader,
  earlier: EarlierRun | undefined,
  hasGameTitles: boolean,
  storeColumn: MakeStoredColumn,
): Promise<ChangeTracking | 'nothing new'> {
  const [[time = null] = []] = await reader.rows('SELECT CURRENT_TIMESTAMP');
  const now = rowTime(time);
  if (earlier === undefined) return makeChangeTracking(now, undefined, storeColumn);
  let hasChange = false;
  const commits = await readLastCommits(reader);
  const readFingerprintsOf = async (table: TimedTable) => {
    const before = earlier.fingerprints[table];
    const isChanged = hadCommit(earlier.commits[table], commits[table]);
    if (isChanged === false) return before;
    hasChange ||= isChanged === true;
    const reading =
      isChanged === true
        ? readFingerprints(reader, table, before.shift)
        : readFingerprintsUnless(before, reader, table, () => {
            hasChange = true;
          });
    if (!hasChange) return reading;
    // If the cache is damaged, the query must end before the snapshot of the database does.
    const ended = Promise.allSettled([reading]);
    try {
      // Opened while the server is busy.
      await nextTurn();
      earlier.records();
    } finally {
      await ended;
    }
    return reading;
  };
  // One table after another: the records are opened during the query of the first table that is known to
  // have changed, or of the one after it.
  const fingerprints = {
    games: await readFingerprintsOf('games'),
    covers: await readFingerprintsOf('covers'),
    cover_files: await readFingerprintsOf('cover_files'),
  };
  if (await isNothingNew(reader, fingerprints, earlier, hasGameTitles)) return 'nothing new';
  const plan = (table: TimedTable): Promise<ReadPlan> => {
    const before = {
      fingerprints: earlier.fingerprints[table],
      unsettled: earlier.unsettled[table],
      open: () => (table === 'cover_files' ? earlier.files().table : earlier.rows().tables[table]),
    };
    return planRead(reader, table, before, fingerprints[table]);
  };
  const plans = {
    games: await plan('games'),
    covers: await plan('covers'),
    cover_files: await plan('cover_files'),
  };
  return makeChangeTracking(now, plans, storeColumn);
}

/** @param fingerprints those of the tables now */
async function isNothingNew(
  reader: Reader,
  fingerprints: Readonly<Record<TimedTable, Fingerprints>>,
  earlier: EarlierRun,
  hasGameTitles: boolean,
): Promise<boolean> {
  for (const table of TIMED_TABLES) {
    if (!areEqual(earlier.fingerprints[table], fingerprints[table])) return false;
    if (earlier.unsettled[table] === undefined) return false;
  }
  // The other tables are small, and read in every run.
  const report = makeReport();
  const read = makeReadTable(reader, report, () => {});
  if ((await readPlatforms(read)).asText !== earlier.platformsText) return false;
  if (hasGameTitles) {
    const { games } = earlier.rows();
    const titles = await readGameTitles(read, report, games);
    if (hashTitles(games, titles) !== earlier.alternativeTitlesHash) return false;
  }
  const tables = ['platforms', ...(hasGameTitles ? ['game_titles'] : [])];
  const now = report.content();
  if (tables.some((table) => reportOf(table, now) !== reportOf(table, earlier.report)))
    return false;
  for (const table of TIMED_TABLES) {
    const unsettled = earlier.unsettled[table];
    const ids = unsettled?.ids.map((id) => splitId(id)).filter((id) => id !== undefined) ?? [];
    const hash = makeRowsHash();
    const columns = `${COLUMNS[table]}, ${TIME_COLUMN}`;
    for await (const row of readRows(reader, table, columns, ids)) hash.add(row);
    if (hash.end() !== unsettled?.hash) return false;
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
