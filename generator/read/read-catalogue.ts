/**
 * Reads the tables of the catalogue: rows in, columns and spools out. Titles, slugs and what the
 * order and the indexes need stay in memory; texts go to the spools at once.
 */
import type { Value } from '../../database/database.ts';
import { Kind, valueAt } from '../../database/row-view.ts';
import type { Settings } from '../../format/manifest.ts';
import {
  compareIds,
  findId,
  growingColumns,
  type Id,
  type Ids,
  makeTexts,
  type Texts,
  valueOfId,
} from '../columns/row-columns.ts';
import type { Spool } from '../columns/spill-file.ts';
import { makeCollator } from '../order/title-order.ts';
import { makeStatusCheck } from './cover-status.ts';
import type { ReadTable } from './read-table.ts';
import { FILE_COLUMNS, GAME_COLUMNS, mostOfRow, putFile, putGameHead } from './records.ts';
import { intern } from './repeated-values.ts';
import type { Report } from './report.ts';
import * as check from './row-checks.ts';
import { oddUrlAt } from './row-json.ts';
import { makeSlugSet } from './slug-set.ts';

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

/** Every game by its place in id order; those that were left out only so that their covers go too. */
export interface Games {
  readonly rows: number;
  readonly ids: Ids;
  /** The platform's number, or {@link LEFT_OUT}. */
  readonly platform: Uint32Array;
  readonly titles: Texts;
  readonly slugs: Texts;
  /** {@link NO_YEAR}: unknown. */
  readonly year: Int16Array;
  readonly genres: readonly (string | null)[];
  readonly genresOf: Uint32Array;
  /** Where each game's record up to its publisher stands in its platform's part of the spool. */
  readonly headStart: Float64Array;
  readonly headLength: Uint32Array;
}

/** Every cover by its place in id order; hidden ones only so that their files are known. */
export interface Covers {
  readonly rows: number;
  readonly ids: Ids;
  /** The game's place, or {@link LEFT_OUT} for a cover that is not approved or goes with its game. */
  readonly game: Uint32Array;
  readonly regions: readonly (string | null)[];
  readonly types: readonly (string | null)[];
  readonly region: Uint32Array;
  readonly type: Uint32Array;
  /** Seconds since 1970; NaN: unknown. */
  readonly approvedAt: Float64Array;
}

export const LEFT_OUT = 0xffff_ffff;
export const NO_YEAR = -0x8000;

/** Takes the ids of a table's rows in the order of reading. */
function makeIds() {
  const { columns: ids, reserve } = growingColumns({ high: Uint32Array, low: Uint32Array });
  const checkAscends = ascendingIds();
  let rows = 0;
  return {
    ids,
    rows: () => rows,
    /** @returns the row's place: how many were taken before it */
    take(value: Value): number {
      const id = check.checkId(value);
      checkAscends(id);
      reserve(rows);
      ids.high[rows] = id[0];
      ids.low[rows] = id[1];
      return rows++;
    },
  };
}

/** Takes ids in the order of reading. @returns what throws on one that is not above the one before */
function ascendingIds(): (id: Id) => void {
  let last: Id = [-1, 0];
  return (id) => {
    if (compareIds(id, last) <= 0) throw new check.RowFault('the id stands twice', valueOfId(id));
    last = id;
  };
}

/**
 * @returns the platforms by name, then slug, the number of each by its id, and every id in the
 * table, those of platforms that were left out included
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
    const slug = check.checkSlug(valueAt(row, 1));
    const name = check.checkText(valueAt(row, 2), 'name');
    if (taken.has(id)) throw new check.RowFault('the id stands twice', value);
    if (slugs.has(slug)) throw new check.RowFault('the slug stands twice', slug);
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

const COLUMNS_OF_GAMES = {
  platform: Uint32Array,
  year: Int16Array,
  genresOf: Uint32Array,
  headStart: Float64Array,
  headLength: Uint32Array,
};

/**
 * @param knownPlatforms every id in the table of platforms
 * @param heads a spool with a bucket for each platform
 */
export async function readGames(
  read: ReadTable,
  platformNumbers: ReadonlyMap<string, number>,
  knownPlatforms: ReadonlySet<string>,
  heads: Spool,
): Promise<Games> {
  const { ids, take, rows } = makeIds();
  const { columns, reserve } = growingColumns(COLUMNS_OF_GAMES);
  const slugs = makeTexts();
  const titles = makeTexts();
  const genres = intern();
  const taken = makeSlugSet(slugs.texts);
  await read('games', GAME_COLUMNS, (row, id, note) => {
    const place = take(id);
    reserve(place);
    columns.platform[place] = LEFT_OUT;
    const platformId = String(valueAt(row, 1));
    const platform = platformNumbers.get(platformId);
    if (platform === undefined) {
      const isKnown = knownPlatforms.has(platformId);
      const reason = isKnown ? 'its platform is left out' : 'the platform does not exist';
      throw new check.RowFault(reason, valueAt(row, 1), isKnown);
    }
    const slug = check.checkSlug(valueAt(row, 2));
    const title = check.checkText(valueAt(row, 3), 'title');
    const year = check.checkOptionalYear(valueAt(row, 4));
    const headStart = heads.endOf(platform);
    const start = heads.begin(platform, mostOfRow(row, 0));
    const end = putGameHead(heads.buffer, start, row, note);
    const genresOf = genres.numberAt(row, 6, 'genres', note);
    slugs.add(place, slug);
    if (!taken.add(platform, place, slug)) {
      throw new check.RowFault('the slug stands twice on its platform', slug);
    }
    heads.end(platform, end);
    titles.add(place, title);
    columns.platform[place] = platform;
    columns.year[place] = year ?? NO_YEAR;
    columns.genresOf[place] = genresOf;
    columns.headStart[place] = headStart;
    columns.headLength[place] = end - start;
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

const COLUMNS_OF_COVERS = {
  game: Uint32Array,
  region: Uint32Array,
  type: Uint32Array,
  approvedAt: Float64Array,
};

export async function readCovers(read: ReadTable, report: Report, games: Games): Promise<Covers> {
  const { ids, take, rows } = makeIds();
  const { columns, reserve } = growingColumns(COLUMNS_OF_COVERS);
  const regions = intern();
  const types = intern();
  const isApproved = makeStatusCheck();
  let lastGame = 0;
  await read('covers', 'id, game_id, region, type, status, approved_at', (row, id, note) => {
    const place = take(id);
    reserve(place);
    columns.game[place] = LEFT_OUT;
    if (!isApproved(row, 4)) return;
    const gameId = check.checkId(valueAt(row, 1), 'game_id');
    const game = findId(games.ids, games.rows, gameId, lastGame);
    if (game < 0) throw new check.RowFault('the game does not exist', valueAt(row, 1));
    lastGame = game;
    const region = regions.numberAt(row, 2, 'region', note);
    const type = types.numberAt(row, 3, 'type', note);
    const approvedAt = check.checkOptionalTime(row, 5, 'approved_at');
    if (games.platform[game] === LEFT_OUT) {
      report.addConsequence();
      return;
    }
    if (Number.isNaN(approvedAt) && row.kind[5] !== Kind.NULL) {
      note(
        'approved_at is zero or empty: served as null, and not among the recent ones',
        valueAt(row, 5),
      );
    }
    columns.game[place] = game;
    columns.region[place] = region;
    columns.type[place] = type;
    columns.approvedAt[place] = approvedAt;
  });
  return {
    rows: rows(),
    ids,
    regions: regions.values(),
    types: types.values(),
    ...columns,
  };
}

/** Covers of so many successive numbers have their files in one bucket of the spool. */
export const COVERS_PER_BUCKET = 4096;

/**
 * @param numberOfCover by place: the cover's number, or {@link LEFT_OUT}
 * @param spool takes the JSON of each file, tagged with its cover's number
 * @returns how many files the published covers have
 */
export async function readFiles(
  read: ReadTable,
  covers: Covers,
  numberOfCover: Uint32Array,
  { files_url }: Settings,
  spool: Spool,
): Promise<number> {
  const checkAscends = ascendingIds();
  let files = 0;
  let lastCover = 0;
  const urlHead = Buffer.from(JSON.stringify(`${files_url}/`).slice(0, -1));
  // Not by cover: the server would sort them all first, which takes longer than to read them.
  await read('cover_files', FILE_COLUMNS, (row, id, note) => {
    checkAscends(check.checkId(id));
    const coverId = check.checkId(valueAt(row, 1), 'cover_id');
    const cover = findId(covers.ids, covers.rows, coverId, lastCover);
    if (cover < 0) throw new check.RowFault('the cover does not exist', valueAt(row, 1));
    lastCover = cover;
    const number = numberOfCover[cover];
    if (number === LEFT_OUT) return;
    const url = oddUrlAt(row, 7, files_url, note);
    const bucket = Math.floor(number / COVERS_PER_BUCKET);
    const start = spool.begin(bucket, mostOfRow(row, url?.length ?? urlHead.length));
    spool.end(bucket, putFile(spool.buffer, start, row, url, urlHead, note), number);
    files++;
  });
  return files;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
