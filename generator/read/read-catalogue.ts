/**
 * Reads the tables of the catalogue into columns and spill files. Titles, slugs and the values needed to
 * sort and index stay in memory; other texts go straight to a spill file.
 */
import type { Value } from '../../database/database.ts';
import { compareIds, type Id } from '../../format/index/ids.ts';
import type { Settings } from '../../format/manifest.ts';
import { type Covers, type Games, LEFT_OUT, NO_YEAR, type Platform } from '../columns/catalogue.ts';
import { findId, valueOfId } from '../columns/ids.ts';
import { mostBytes } from '../columns/json-bytes.ts';
import { growingColumns } from '../columns/row-columns.ts';
import type { SpillFile } from '../columns/spill-file.ts';
import { makeTexts } from '../columns/texts.ts';
import { makeCollator } from '../order/title-order.ts';
import type { Report } from '../report/report.ts';
import { RowFault } from '../report/row-fault.ts';
import { makeStatusCheck } from './cover-status.ts';
import type { ReadTable } from './read-table.ts';
import { FILE_COLUMNS, GAME_COLUMNS, mostOfRow, putFile, putGameHead } from './records.ts';
import { makeRepeatedValues } from './repeated-values.ts';
import * as check from './row-checks.ts';

/** Collects the ids of a table's rows, which must ascend. */
function makeIds() {
  const { columns: ids, reserve } = growingColumns({ high: Uint32Array, low: Uint32Array });
  const checkAscends = ascendingIds();
  let rows = 0;
  return {
    ids,
    rows: () => rows,
    /** @returns the index of the row */
    add(value: Value): number {
      const id = check.checkId(value);
      checkAscends(id);
      reserve(rows);
      ids.high[rows] = id[0];
      ids.low[rows] = id[1];
      return rows++;
    },
  };
}

/** @returns a function that throws a RowFault for an id that is not higher than the previous one */
function ascendingIds(): (id: Id) => void {
  let last: Id = [-1, 0];
  return (id) => {
    if (compareIds(id, last) <= 0) throw new RowFault('the id stands twice', valueOfId(id));
    last = id;
  };
}

/**
 * @returns `platforms`, sorted by name, then slug; `numberOf`, the number of each platform by its id;
 * `known`, all ids in the table, including those of platforms that were left out
 */
export async function readPlatforms(read: ReadTable) {
  const found: (Platform & { id: string })[] = [];
  const known = new Set<string>();
  const taken = new Set<string>();
  const slugs = new Set<string>();
  await read('platforms', 'id, slug, name', (row, value, note) => {
    check.checkId(value);
    const id = String(value);
    known.add(id);
    const slug = check.checkSlug(row[1]);
    const name = check.checkText(row[2], 'name');
    if (taken.has(id)) throw new RowFault('the id stands twice', value);
    if (slugs.has(slug)) throw new RowFault('the slug stands twice', slug);
    check.noteDamage(name, 'name', note);
    taken.add(id);
    slugs.add(slug);
    found.push({ id, slug, name });
  });
  const collator = makeCollator();
  found.sort(
    (a, b) =>
      collator.compare(a.name, b.name) || compare(a.name, b.name) || compare(a.slug, b.slug),
  );
  return {
    platforms: found.map(({ slug, name }): Platform => ({ slug, name })),
    numberOf: new Map(found.map(({ id }, number) => [id, number])),
    known,
  };
}

const GAME_COLUMN_TYPES = {
  platform: Uint32Array,
  year: Int16Array,
  genresOf: Uint32Array,
  headStart: Float64Array,
  headLength: Uint32Array,
};

/**
 * @param knownPlatforms all ids in the table of platforms
 * @param heads receives the first part of each game's record, up to and including `publisher`; one
 * bucket per platform
 */
export async function readGames(
  read: ReadTable,
  platformNumbers: ReadonlyMap<string, number>,
  knownPlatforms: ReadonlySet<string>,
  heads: SpillFile,
): Promise<Games> {
  const { ids, add, rows } = makeIds();
  const { columns, reserve } = growingColumns(GAME_COLUMN_TYPES);
  const slugs = makeTexts();
  const titles = makeTexts();
  const genres = makeRepeatedValues();
  const taken = Array.from({ length: platformNumbers.size }, () => new Set<string>());
  await read('games', GAME_COLUMNS, (row, id, note) => {
    const index = add(id);
    reserve(index);
    columns.platform[index] = LEFT_OUT;
    const platformId = String(row[1]);
    const platform = platformNumbers.get(platformId);
    if (platform === undefined) {
      const isKnown = knownPlatforms.has(platformId);
      const reason = isKnown ? 'its platform is left out' : 'the platform does not exist';
      throw new RowFault(reason, row[1], isKnown);
    }
    const slug = check.checkSlug(row[2]);
    const title = check.checkText(row[3], 'title');
    const year = check.checkOptionalYear(row[4]);
    const headStart = heads.endOf(platform);
    const start = heads.begin(platform, mostOfRow(row));
    const end = putGameHead(heads.buffer, start, row, note);
    const genresOf = genres.numberOf(row[6], 'genres', note);
    slugs.add(index, slug);
    if (taken[platform].has(slug)) {
      throw new RowFault('the slug stands twice on its platform', slug);
    }
    taken[platform].add(slug);
    heads.end(platform, end);
    titles.add(index, title);
    columns.platform[index] = platform;
    columns.year[index] = year ?? NO_YEAR;
    columns.genresOf[index] = genresOf;
    columns.headStart[index] = headStart;
    columns.headLength[index] = end - start;
  });
  return {
    rows: rows(),
    ids,
    titles: titles.texts,
    slugs: slugs.texts,
    genres: genres.values(),
    ...columns,
  };
}

const COVER_COLUMN_TYPES = {
  game: Uint32Array,
  region: Uint32Array,
  type: Uint32Array,
  approvedAt: Float64Array,
};

export async function readCovers(read: ReadTable, report: Report, games: Games): Promise<Covers> {
  const { ids, add, rows } = makeIds();
  const { columns, reserve } = growingColumns(COVER_COLUMN_TYPES);
  const regions = makeRepeatedValues();
  const types = makeRepeatedValues();
  const isApproved = makeStatusCheck();
  let lastGame = 0;
  await read('covers', 'id, game_id, region, type, status, approved_at', (row, id, note) => {
    const index = add(id);
    reserve(index);
    columns.game[index] = LEFT_OUT;
    if (!isApproved(row[4])) return;
    const gameId = check.checkId(row[1], 'game_id');
    const game = findId(games.ids, games.rows, gameId, lastGame);
    if (game < 0) throw new RowFault('the game does not exist', row[1]);
    lastGame = game;
    const region = regions.numberOf(row[2], 'region', note);
    const type = types.numberOf(row[3], 'type', note);
    const approvedAt = check.checkOptionalTime(row[5], 'approved_at');
    if (games.platform[game] === LEFT_OUT) {
      report.addConsequence();
      return;
    }
    if (Number.isNaN(approvedAt) && row[5] !== null) {
      note('approved_at is zero or empty: served as null, and not among the recent ones', row[5]);
    }
    columns.game[index] = game;
    columns.region[index] = region;
    columns.type[index] = type;
    columns.approvedAt[index] = approvedAt;
  });
  return {
    rows: rows(),
    ids,
    regions: regions.values(),
    types: types.values(),
    ...columns,
  };
}

/** How many consecutively numbered covers share a bucket of the spill file. */
export const COVERS_PER_BUCKET = 4096;

/**
 * @param numberOfCover for each row, the cover's number, or {@link LEFT_OUT}
 * @param spill receives the JSON of each file, tagged with the number of its cover
 * @returns the number of files of published covers
 */
export async function readFiles(
  read: ReadTable,
  covers: Covers,
  numberOfCover: Uint32Array,
  { files_url }: Settings,
  spill: SpillFile,
): Promise<number> {
  const checkAscends = ascendingIds();
  let files = 0;
  let lastCover = 0;
  // Read in order of file id, not of cover: to order by cover, the server would sort the whole table
  // first, which takes longer than reading it.
  await read('cover_files', FILE_COLUMNS, (row, id, note) => {
    checkAscends(check.checkId(id));
    const coverId = check.checkId(row[1], 'cover_id');
    const cover = findId(covers.ids, covers.rows, coverId, lastCover);
    if (cover < 0) throw new RowFault('the cover does not exist', row[1]);
    lastCover = cover;
    const number = numberOfCover[cover];
    if (number === LEFT_OUT) return;
    const url = check.checkFileUrl(row[7], files_url);
    check.noteDamage(String(row[7]), 'path', note);
    const bucket = Math.floor(number / COVERS_PER_BUCKET);
    const start = spill.begin(bucket, mostOfRow(row) + mostBytes(url.length));
    spill.end(bucket, putFile(spill.buffer, start, row, url, note), number);
    files++;
  });
  return files;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
