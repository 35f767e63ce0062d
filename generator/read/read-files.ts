/**
 * Reads the files of covers, and writes the JSON of each to a spill file. The JSON of a cached file stays in
 * the record of its cover, unless another file of that cover has changed.
 */
import type { Reader } from '../../database/database.ts';
import { compareIds, type Id } from '../../format/index/ids.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { Settings } from '../../format/manifest.ts';
import { type Covers, LEFT_OUT } from '../columns/catalogue.ts';
import { findId, type Ids, isUsualForm, readId, valueOfId } from '../columns/ids.ts';
import { mostBytes } from '../columns/json-bytes.ts';
import type { SpillFile } from '../columns/spill-file.ts';
import type { GrowingStoredColumn, MakeStoredColumn } from '../columns/stored-column.ts';
import { RowFault } from '../report/row-fault.ts';
import type { CachedFileRows } from '../reuse/earlier-run.ts';
import { idOfRow, isUnchanged, type ReadPlan, readRows } from '../reuse/plan-read.ts';
import { type KnownRows, READ_AGAIN, type ReadTable } from './read-table.ts';
import { FILE_COLUMNS, mostOfRow, putFile } from './records.ts';
import * as check from './row-checks.ts';
import { makeStoredIds } from './table-ids.ts';

/** How many consecutively numbered covers share a bucket of the spill file. */
export const COVERS_PER_BUCKET = 4096;

/** All files, one row each, in the order of their ids. */
export interface Files {
  readonly rows: number;
  /** The highest id; 0 if there is no file. */
  readonly lastId: Id;
  /** Only the row cache needs these. Undefined if all files are those of an earlier run. */
  readonly columns: FileColumns | undefined;
  /** The number of files of published covers. */
  readonly published: number;
}

export interface FileColumns {
  readonly idHigh: GrowingStoredColumn;
  readonly idLow: GrowingStoredColumn;
  /**
   * The row of the file's cover; LEFT_OUT if the cover does not exist. A file left out for another reason
   * keeps its cover, so that the cover's files are read again.
   */
  readonly cover: GrowingStoredColumn;
}

/** The files of an earlier run. */
export interface EarlierFiles {
  readonly plan: ReadPlan;
  /** Called only if it is needed. */
  open(): CachedFileRows;
  /** The ids of the covers of that run. Only called if they are needed. */
  coverIds(): Ids;
  /** The row in this run of a cover of that run, or LEFT_OUT. */
  rowOfCover(cachedRow: number): number;
}

export interface CachedFiles extends EarlierFiles {
  /** For each cover of this run: 1 if its files must be read. See {@link findCoversToRead}. */
  readonly mustRead: Uint8Array;
}

/**
 * @param numberOfCover for each row, the cover's number, or {@link LEFT_OUT}
 * @param spill receives the JSON of each file, tagged with the number of its cover
 * @param storeColumn creates the columns for the row cache
 */
export async function readFiles(
  read: ReadTable,
  covers: Covers,
  numberOfCover: Uint32Array,
  { files_url }: Settings,
  spill: SpillFile,
  storeColumn: MakeStoredColumn,
  cached?: CachedFiles,
): Promise<Files> {
  const { ids, add, addCached, lastId } = makeStoredIds(storeColumn);
  const coverColumn = storeColumn('cover', 'u32');
  let published = 0;
  let lastCover = 0;

  function takeCached({ open, coverIds, rowOfCover, mustRead }: CachedFiles): KnownRows {
    const { table, cover: cachedCovers } = open();
    return {
      isAffected: findAffected(cachedCovers, rowOfCover),
      takeAll(from, to) {
        addCached(table.ids, from, to);
        for (let at = from; at < to; at++) {
          const cover = rowOfCover(cachedCovers[at]);
          coverColumn.add(cover);
          if (numberOfCover[cover] === LEFT_OUT) continue;
          if (mustRead[cover] === 1) throw new Error('a file that must be read was not');
          published++;
        }
      },
      takeAffected(cachedRow) {
        addCached(table.ids, cachedRow, cachedRow + 1);
        coverColumn.add(LEFT_OUT);
        const id = idOfRow(coverIds(), cachedCovers[cachedRow]);
        throw new RowFault('the cover does not exist', valueOfId(id), true);
      },
    };
  }

  // Read in order of file id, not of cover: to order by cover, the server would sort the whole table
  // first, which takes longer than reading it.
  await read(
    'cover_files',
    FILE_COLUMNS,
    (row, id, note) => {
      add(id);
      coverColumn.add(LEFT_OUT);
      const coverId = check.checkId(row[1], 'cover_id');
      const cover = findId(covers.ids, covers.rows, coverId, lastCover);
      if (cover < 0) throw new RowFault('the cover does not exist', row[1], true);
      lastCover = cover;
      coverColumn.replaceLast(cover);
      const isUsual = isUsualForm(row[1], coverId);
      const number = numberOfCover[cover];
      if (number === LEFT_OUT) return isUsual ? undefined : READ_AGAIN;
      const url = check.checkFileUrl(row[7], files_url);
      check.noteDamage(String(row[7]), 'path', note);
      const bucket = Math.floor(number / COVERS_PER_BUCKET);
      const start = spill.begin(bucket, mostOfRow(row) + mostBytes(url.length));
      spill.end(bucket, putFile(spill.buffer, start, row, url, note), number);
      published++;
      return isUsual ? undefined : READ_AGAIN;
    },
    cached && takeCached(cached),
  );
  return {
    rows: coverColumn.length,
    lastId: lastId(),
    columns: { idHigh: ids.high, idLow: ids.low, cover: coverColumn },
    published,
  };
}

/** For each cached file: 1 if its cover is gone. */
function findAffected(
  cachedCovers: Uint32Array,
  rowOfCover: EarlierFiles['rowOfCover'],
): Uint8Array {
  const isAffected = new Uint8Array(cachedCovers.length);
  for (let row = 0; row < cachedCovers.length; row++) {
    if (rowOfCover(cachedCovers[row]) === LEFT_OUT) isAffected[row] = 1;
  }
  return isAffected;
}

/**
 * Finds the covers whose files must be read: those that have just been published, and those that gained,
 * lost or changed a file. Adds all files of these covers to the plan.
 * @param isNew whether a cover has no record in the earlier generation
 * @returns for each row of a cover: 1 if its files must be read, otherwise 0
 */
export async function findCoversToRead(
  reader: Reader,
  covers: Covers,
  numberOfCover: Uint32Array,
  isNew: (row: number) => boolean,
  { plan, open, rowOfCover }: EarlierFiles,
): Promise<Uint8Array> {
  const mustRead = sharedZeros(Uint8Array, covers.rows);
  let areAllSame = isUnchanged(plan);
  for (let row = 0; row < covers.rows; row++) {
    if (numberOfCover[row] === LEFT_OUT || !isNew(row)) continue;
    mustRead[row] = 1;
    areAllSame = false;
  }
  if (areAllSame) return mustRead;
  for await (const [, value] of readRows(reader, 'cover_files', 'id, cover_id', plan.fresh)) {
    const coverId = readId(value);
    const row = coverId === undefined ? -1 : findId(covers.ids, covers.rows, coverId, 0);
    if (row >= 0) mustRead[row] = 1;
  }
  const { isKnown, fresh } = plan;
  const { table, cover: cachedCovers } = open();
  const coverOf = (file: number) =>
    cachedCovers[file] === LEFT_OUT ? LEFT_OUT : rowOfCover(cachedCovers[file]);
  for (let file = 0; file < table.rows; file++) {
    const row = coverOf(file);
    if (isKnown[file] === 0 && row !== LEFT_OUT) mustRead[row] = 1;
  }
  for (let file = 0; file < table.rows; file++) {
    const row = coverOf(file);
    if (isKnown[file] === 0 || row === LEFT_OUT || mustRead[row] === 0) continue;
    isKnown[file] = 0;
    fresh.push(idOfRow(table.ids, file));
  }
  fresh.sort(compareIds);
  return mustRead;
}
