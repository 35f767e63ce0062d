/**
 * Reads the tables of the catalogue: rows in, columns and spools out. Titles, slugs and what the
 * order and the indexes need stay in memory; texts go to the spools at once.
 */
import type { Reader, Row } from '../database/database.ts';
import type { Settings } from '../format/manifest.ts';
import { encodeFile, encodeGameHead } from './records.ts';
import type { Report, Table } from './report.ts';
import * as check from './row-checks.ts';
import {
  compareId,
  findId,
  type Id,
  type Ids,
  type Interned,
  ids,
  intern,
  makeTexts,
  numbers,
  type Texts,
} from './row-columns.ts';
import { makeSlugSet } from './slug-set.ts';
import type { Spool } from './spool.ts';
import { makeCollator } from './title-order.ts';

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

/**
 * Reads a table to its end, each row that breaks the contract left out and reported.
 * @param start called with the number of rows that there will be; gives what takes each row
 */
export type ReadTable = (
  table: Table,
  sql: string,
  start: (rows: number) => (row: Row) => void,
) => Promise<void>;

/** Called every few thousand rows. */
export type OnRows = (table: Table, rows: number, ofRows: number) => void;

const ROWS_PER_REPORT = 4096;

export function makeReadTable(reader: Reader, report: Report, onRows: OnRows): ReadTable {
  return async (table, sql, start) => {
    const [[count] = []] = await reader.rows(`SELECT COUNT(*) FROM ${table}`);
    const ofRows = Number(count);
    const onRow = start(ofRows);
    let rows = 0;
    const read = await reader.each(sql, (row) => {
      if (rows === ofRows) throw new Error(`The table ${table} has more than its ${ofRows} rows.`);
      try {
        onRow(row);
      } catch (error) {
        if (!(error instanceof check.RowFault)) throw error;
        report.leaveOut(table, row[0] ?? null, error.message);
      }
      if (++rows % ROWS_PER_REPORT === 0) onRows(table, rows, ofRows);
    });
    // A stream that was cut by KILL QUERY ends as if it were whole.
    if (read !== ofRows) {
      throw new Error(
        `The table ${table} was read to ${read} of its ${ofRows} rows, then the read ended.`,
      );
    }
    report.setRows(table, read);
    onRows(table, read, ofRows);
  };
}

/** @returns the platforms by name, then slug, and the number of each by its id */
export async function readPlatforms(read: ReadTable) {
  const found: (Platform & { id: string })[] = [];
  const taken = new Set<string>();
  const slugs = new Set<string>();
  await read('platforms', 'SELECT id, slug, name FROM platforms ORDER BY id', () => (row) => {
    check.checkId(row[0] ?? null);
    const slug = check.checkSlug(row[1] ?? null);
    const name = check.checkText(row[2] ?? null, 'name');
    if (taken.has(String(row[0]))) throw new check.RowFault('the id stands twice');
    if (slugs.has(slug)) throw new check.RowFault('the slug stands twice');
    taken.add(String(row[0]));
    slugs.add(slug);
    found.push({ id: String(row[0]), slug, name });
  });
  const collator = makeCollator();
  found.sort(
    (a, b) =>
      collator.compare(a.name, b.name) || compare(a.name, b.name) || compare(a.slug, b.slug),
  );
  return {
    platforms: found.map(({ slug, name }): Platform => ({ slug, name })),
    numberOf: new Map(found.map(({ id }, number) => [id, number])),
  };
}

/** @param heads a spool with a bucket for each platform */
export async function readGames(
  read: ReadTable,
  platformNumbers: ReadonlyMap<string, number>,
  heads: Spool,
): Promise<Games> {
  let games: Games | undefined;
  const sql =
    'SELECT id, platform_id, slug, title, release_year, description, genres, developer, publisher FROM games ORDER BY id';
  await read('games', sql, (rows) => {
    const slugs = makeTexts(rows);
    const titles = makeTexts(rows);
    const genres = intern();
    const taken = makeSlugSet(rows, slugs.texts);
    const made = {
      rows: 0,
      ids: ids(rows),
      platform: numbers(Uint32Array, rows).fill(LEFT_OUT),
      titles: titles.texts,
      slugs: slugs.texts,
      year: numbers(Int16Array, rows),
      genres: genres.values,
      genresOf: numbers(Uint32Array, rows),
      headStart: numbers(Float64Array, rows),
      headLength: numbers(Uint32Array, rows),
    };
    games = made;
    return (row) => {
      const place = made.rows;
      addId(made.ids, place, check.checkId(row[0] ?? null));
      made.rows++;
      const platform = platformNumbers.get(String(row[1]));
      if (platform === undefined) throw new check.RowFault('the platform does not exist');
      const slug = check.checkSlug(row[2] ?? null);
      const title = check.checkText(row[3] ?? null, 'title');
      const year = check.checkOptionalYear(row[4] ?? null);
      const description = check.checkOptionalText(row[5] ?? null, 'description');
      const genre = check.checkOptionalText(row[6] ?? null, 'genres');
      const developer = check.checkOptionalText(row[7] ?? null, 'developer');
      const publisher = check.checkOptionalText(row[8] ?? null, 'publisher');
      slugs.add(place, slug);
      if (!taken.add(platform, place, slug)) {
        throw new check.RowFault('the slug stands twice on its platform');
      }
      titles.add(place, title);
      made.platform[place] = platform;
      made.year[place] = year ?? NO_YEAR;
      made.genresOf[place] = genres.numberOf(genre);
      made.headStart[place] = heads.endOf(platform);
      made.headLength[place] = heads.add(
        platform,
        encodeGameHead(String(row[0]), slug, title, year, description, genre, developer, publisher),
      );
    };
  });
  return games as Games;
}

export async function readCovers(read: ReadTable, report: Report, games: Games): Promise<Covers> {
  let covers: Covers | undefined;
  const sql = 'SELECT id, game_id, region, type, status, approved_at FROM covers ORDER BY id';
  await read('covers', sql, (rows) => {
    const regions: Interned = intern();
    const types: Interned = intern();
    const made = {
      rows: 0,
      ids: ids(rows),
      game: numbers(Uint32Array, rows).fill(LEFT_OUT),
      regions: regions.values,
      types: types.values,
      region: numbers(Uint32Array, rows),
      type: numbers(Uint32Array, rows),
      approvedAt: numbers(Float64Array, rows),
    };
    covers = made;
    let lastGame = 0;
    return (row) => {
      const place = made.rows;
      addId(made.ids, place, check.checkId(row[0] ?? null));
      made.rows++;
      if (row[4] !== 'approved') return;
      const game = findId(
        games.ids,
        games.rows,
        check.checkId(row[1] ?? null, 'game_id'),
        lastGame,
      );
      if (game < 0) throw new check.RowFault('the game does not exist');
      lastGame = game;
      const region = check.checkOptionalText(row[2] ?? null, 'region');
      const type = check.checkOptionalText(row[3] ?? null, 'type');
      const approvedAt = check.checkOptionalTime(row[5] ?? null, 'approved_at');
      if (games.platform[game] === LEFT_OUT) {
        report.addConsequence();
        return;
      }
      made.game[place] = game;
      made.region[place] = regions.numberOf(region);
      made.type[place] = types.numberOf(type);
      made.approvedAt[place] = approvedAt;
    };
  });
  return covers as Covers;
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
  let files = 0;
  // Not by cover: the server would sort them all first, which takes longer than to read them.
  const sql =
    'SELECT id, cover_id, variant, mime_type, width, height, size_bytes, path FROM cover_files ORDER BY id';
  await read('cover_files', sql, () => {
    let lastId: Id = [-1, 0];
    let lastCover = 0;
    return (row) => {
      const id = check.checkId(row[0] ?? null);
      if ((id[0] - lastId[0] || id[1] - lastId[1]) <= 0) {
        throw new check.RowFault('the id stands twice');
      }
      lastId = id;
      const cover = findId(
        covers.ids,
        covers.rows,
        check.checkId(row[1] ?? null, 'cover_id'),
        lastCover,
      );
      if (cover < 0) throw new check.RowFault('the cover does not exist');
      lastCover = cover;
      const number = numberOfCover[cover] as number;
      if (number === LEFT_OUT) return;
      const file = encodeFile(
        String(row[0]),
        check.checkOptionalText(row[2] ?? null, 'variant'),
        check.checkOptionalText(row[3] ?? null, 'mime_type'),
        check.checkOptionalCount(row[4] ?? null, 'width'),
        check.checkOptionalCount(row[5] ?? null, 'height'),
        check.checkOptionalCount(row[6] ?? null, 'size_bytes'),
        check.checkFileUrl(row[7] ?? null, files_url),
      );
      spool.add(Math.floor(number / COVERS_PER_BUCKET), file, number);
      files++;
    };
  });
  return files;
}

function addId(all: Ids, place: number, id: Id): void {
  if (place > 0 && compareId(all, place - 1, id) >= 0) {
    throw new check.RowFault('the id stands twice');
  }
  all.high[place] = id[0];
  all.low[place] = id[1];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
