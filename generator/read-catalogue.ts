/**
 * Reads the catalogue in one consistent read: rows in, columns and spools out. Titles, slugs and
 * what the order and the indexes need stay in memory; texts go to the spools at once.
 */
import path from 'node:path';
import type { Database, Reader, Row } from '../database/database.ts';
import type { Settings } from '../format/manifest.ts';
import {
  type Growable,
  growable,
  type IdColumn,
  type Interned,
  idColumn,
  intern,
} from './growable.ts';
import { encodeFile, encodeGameHead } from './records.ts';
import type { Report, Table } from './report.ts';
import * as check from './row-checks.ts';
import { makeSpool, type Spool } from './spool.ts';
import { makeCollator } from './title-order.ts';

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

/** Kept games, by their place in id order. */
export interface Games {
  readonly ids: IdColumn;
  readonly platform: Growable<Uint32Array>;
  readonly titles: string[];
  readonly slugs: string[];
  /** NaN: unknown. */
  readonly year: Growable<Float64Array>;
  readonly genres: Interned;
  readonly genresOf: Growable<Uint32Array>;
  /** Where each game's record up to its publisher stands in its platform's part of the spool. */
  readonly headStart: Growable<Float64Array>;
  readonly headLength: Growable<Uint32Array>;
  readonly spool: Spool;
}

/** Every cover by its place in id order; hidden ones only so that their files are known. */
export interface Covers {
  readonly ids: IdColumn;
  /** The game's place, or {@link HIDDEN}. */
  readonly game: Growable<Int32Array>;
  readonly regions: Interned;
  readonly types: Interned;
  readonly region: Growable<Uint32Array>;
  readonly type: Growable<Uint32Array>;
  /** Seconds since 1970; NaN: unknown. */
  readonly approvedAt: Growable<Float64Array>;
  /** Where the JSON of each cover's files stands in the platform's part of the spool, and how many. */
  readonly filesStart: Growable<Float64Array>;
  readonly filesLength: Growable<Uint32Array>;
  readonly filesCount: Growable<Uint32Array>;
  readonly spool: Spool;
}

/** A cover that is not approved, or goes with its game. */
export const HIDDEN = -1;

export interface SourceCatalogue {
  /** By name, then slug. */
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  discard(): void;
}

/** Called every few thousand rows. */
export type OnRows = (table: Table, rows: number, ofRows: number) => void;

const ROWS_PER_REPORT = 4096;

/** @param workDir an empty folder for the spools */
export async function readCatalogue(
  database: Database,
  settings: Settings,
  workDir: string,
  report: Report,
  onRows: OnRows,
): Promise<SourceCatalogue> {
  const spools: Spool[] = [];
  const openSpool = (name: string, platforms: number) => {
    const spool = makeSpool(path.join(workDir, name), platforms);
    spools.push(spool);
    return spool;
  };
  const discard = () => {
    for (const spool of spools) spool.discard();
  };
  try {
    return await database.snapshot(async (reader) => {
      const read = readTable(reader, report, onRows);
      const { platforms, numberOf } = await readPlatforms(read);
      const gameSpool = openSpool('game-heads', platforms.length);
      const { games, allGames, keptAt } = await readGames(read, numberOf, gameSpool);
      const fileSpool = openSpool('cover-files', platforms.length);
      const covers = await readCovers(read, report, allGames, keptAt, fileSpool);
      await readFiles(read, covers, games.platform, settings.files_url);
      return { platforms, games, covers, discard };
    });
  } catch (error) {
    discard();
    throw error;
  }
}

type ReadTable = (table: Table, sql: string, onRow: (row: Row) => void) => Promise<void>;

/** Reads a table to its end, each row that breaks the contract left out and reported. */
function readTable(reader: Reader, report: Report, onRows: OnRows): ReadTable {
  return async (table, sql, onRow) => {
    const [[count] = []] = await reader.rows(`SELECT COUNT(*) FROM ${table}`);
    const ofRows = Number(count);
    let rows = 0;
    const read = await reader.each(sql, (row) => {
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

async function readPlatforms(read: ReadTable) {
  const found: (Platform & { id: string })[] = [];
  const slugs = new Set<string>();
  await read('platforms', 'SELECT id, slug, name FROM platforms ORDER BY id', (row) => {
    check.checkId(row[0] ?? null);
    const slug = check.checkSlug(row[1] ?? null);
    const name = check.checkText(row[2] ?? null, 'name');
    if (slugs.has(slug)) throw new check.RowFault('the slug stands twice');
    slugs.add(slug);
    found.push({ id: String(row[0]), slug, name });
  });
  const collator = makeCollator();
  found.sort(
    (a, b) =>
      collator.compare(a.name, b.name) || compare(a.name, b.name) || compare(a.slug, b.slug),
  );
  return {
    platforms: found.map(({ slug, name }) => ({ slug, name })),
    numberOf: new Map(found.map(({ id }, number) => [id, number])),
  };
}

async function readGames(
  read: ReadTable,
  platformNumbers: ReadonlyMap<string, number>,
  spool: Spool,
) {
  const kept: Games = {
    ids: idColumn(),
    platform: growable(Uint32Array),
    titles: [],
    slugs: [],
    year: growable(Float64Array),
    genres: intern(),
    genresOf: growable(Uint32Array),
    headStart: growable(Float64Array),
    headLength: growable(Uint32Array),
    spool,
  };
  const all = idColumn();
  // The kept game at each place of `all`, or HIDDEN: covers of a game that was left out go with it.
  const keptAt = growable(Int32Array);
  const slugs = new Map<number, Set<string>>();
  const sql =
    'SELECT id, platform_id, slug, title, release_year, description, genres, developer, publisher FROM games ORDER BY id';
  await read('games', sql, (row) => {
    const id = check.checkId(row[0] ?? null);
    if (!all.push(id)) throw new check.RowFault('the id stands twice');
    keptAt.push(HIDDEN);
    const platform = platformNumbers.get(String(row[1]));
    if (platform === undefined) throw new check.RowFault('the platform does not exist');
    const slug = check.checkSlug(row[2] ?? null);
    const title = check.checkText(row[3] ?? null, 'title');
    const year = check.checkOptionalYear(row[4] ?? null);
    const description = check.checkOptionalText(row[5] ?? null, 'description');
    const genres = check.checkOptionalText(row[6] ?? null, 'genres');
    const developer = check.checkOptionalText(row[7] ?? null, 'developer');
    const publisher = check.checkOptionalText(row[8] ?? null, 'publisher');
    let taken = slugs.get(platform);
    if (taken === undefined) {
      taken = new Set();
      slugs.set(platform, taken);
    }
    if (taken.has(slug)) throw new check.RowFault('the slug stands twice on its platform');
    taken.add(slug);
    keptAt.set(all.length - 1, kept.ids.length);
    kept.ids.push(id);
    kept.platform.push(platform);
    kept.titles.push(title);
    kept.slugs.push(slug);
    kept.year.push(year ?? Number.NaN);
    kept.genresOf.push(kept.genres.numberOf(genres));
    kept.headStart.push(spool.endOf(platform));
    kept.headLength.push(
      spool.add(
        platform,
        encodeGameHead(
          String(row[0]),
          slug,
          title,
          year,
          description,
          genres,
          developer,
          publisher,
        ),
      ),
    );
  });
  return { games: kept, allGames: all, keptAt };
}

async function readCovers(
  read: ReadTable,
  report: Report,
  allGames: IdColumn,
  keptAt: Growable<Int32Array>,
  spool: Spool,
): Promise<Covers> {
  const covers: Covers = {
    ids: idColumn(),
    game: growable(Int32Array),
    regions: intern(),
    types: intern(),
    region: growable(Uint32Array),
    type: growable(Uint32Array),
    approvedAt: growable(Float64Array),
    filesStart: growable(Float64Array),
    filesLength: growable(Uint32Array),
    filesCount: growable(Uint32Array),
    spool,
  };
  const sql = 'SELECT id, game_id, region, type, status, approved_at FROM covers ORDER BY id';
  await read('covers', sql, (row) => {
    if (!covers.ids.push(check.checkId(row[0] ?? null))) {
      throw new check.RowFault('the id stands twice');
    }
    const place = covers.game.length;
    covers.game.push(HIDDEN);
    covers.region.push(0);
    covers.type.push(0);
    covers.approvedAt.push(Number.NaN);
    covers.filesStart.push(0);
    covers.filesLength.push(0);
    covers.filesCount.push(0);
    if (row[4] !== 'approved') return;
    const game = allGames.find(check.checkId(row[1] ?? null, 'game_id'));
    if (game < 0) throw new check.RowFault('the game does not exist');
    const region = check.checkOptionalText(row[2] ?? null, 'region');
    const type = check.checkOptionalText(row[3] ?? null, 'type');
    const approvedAt = check.checkOptionalTime(row[5] ?? null, 'approved_at');
    const kept = keptAt.at(game);
    if (kept === HIDDEN) {
      report.addConsequence();
      return;
    }
    covers.game.set(place, kept);
    covers.region.set(place, covers.regions.numberOf(region));
    covers.type.set(place, covers.types.numberOf(type));
    covers.approvedAt.set(place, approvedAt);
  });
  return covers;
}

async function readFiles(
  read: ReadTable,
  covers: Covers,
  platformOf: Games['platform'],
  filesUrl: string,
): Promise<void> {
  let place = 0;
  const sql =
    'SELECT id, cover_id, variant, mime_type, width, height, size_bytes, path FROM cover_files ORDER BY cover_id, id';
  await read('cover_files', sql, (row) => {
    check.checkId(row[0] ?? null);
    const cover = check.checkId(row[1] ?? null, 'cover_id');
    while (place < covers.ids.length && covers.ids.compare(place, cover) < 0) place++;
    if (place === covers.ids.length || covers.ids.compare(place, cover) !== 0) {
      throw new check.RowFault('the cover does not exist');
    }
    const game = covers.game.at(place);
    if (game === HIDDEN) return;
    const file = encodeFile(
      String(row[0]),
      check.checkOptionalText(row[2] ?? null, 'variant'),
      check.checkOptionalText(row[3] ?? null, 'mime_type'),
      check.checkOptionalCount(row[4] ?? null, 'width'),
      check.checkOptionalCount(row[5] ?? null, 'height'),
      check.checkOptionalCount(row[6] ?? null, 'size_bytes'),
      check.checkFileUrl(row[7] ?? null, filesUrl),
    );
    const count = covers.filesCount.at(place);
    const platform = platformOf.at(game);
    if (count === 0) covers.filesStart.set(place, covers.spool.endOf(platform));
    const length = covers.spool.add(platform, count === 0 ? file : `,${file}`);
    covers.filesLength.set(place, covers.filesLength.at(place) + length);
    covers.filesCount.set(place, count + 1);
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
