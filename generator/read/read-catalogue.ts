/**
 * Reads the tables of the catalogue, all rows or those of some blocks, and checks each row. Rows that break
 * the contract are left out and reported.
 */

import {
  type FilterOf,
  filterNamesOf,
  filterRow,
  type ValueFilter,
} from '../../find/search/value-filters.ts';
import { NO_YEAR } from '../../find/search/write-filters.ts';
import { type Column, columnOf, indexesOf, makeColumn } from '../../lib/columns/columns.ts';
import type { None } from '../../lib/columns/numbers.ts';
import { NONE, numberAt } from '../../lib/columns/numbers.ts';
import type { Reader, Row, Value } from '../../lib/database/database.ts';
import { type Id, textOfId } from '../../lib/format/index/ids.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { NO_BLOCK, type Report, RowFault } from '../report/report.ts';
import type {
  CoverRow,
  CoverRows,
  FileRow,
  FileRows,
  GameRow,
  GameRows,
  Platform,
  PlatformNumber,
  Rows,
  Values,
} from '../rows/catalogue.ts';
import { NUMBER_COLUMNS } from '../rows/catalogue.ts';
import { findId, idOf, makeIds, readId, setId, valueOfId } from '../rows/ids.ts';
import { COVER, FILE, FILE_MEMBERS, GAME, GAME_MEMBERS, PLATFORM } from '../rows/members.ts';
import { RowTexts } from '../rows/texts.ts';
import { compareUnits, encodeTime, hashTitle, makeCollator } from '../rows/values.ts';
import { checkIds, checkTitles, type OptionalTables } from './optional-tables.ts';
import { makeIdCheck, type ReadTable, readSelected, type Selection } from './read-table.ts';
import * as check from './row-checks.ts';

/** Which rows are read, and in which blocks their findings are. */
export interface Scope {
  /** Undefined if all rows are read, and so are the files of all covers. */
  readonly games: Selection | undefined;
  readonly covers: Selection | undefined;
  /** The files among which some may have no cover, and all covers that these may have. */
  readonly loose?: { readonly files: Selection; readonly covers: Selection };
  /** The distinct values that are numbered already, null first. */
  readonly values: Readonly<Record<ValueFilter, readonly (string | null)[]>>;
  /** The blocks of a game, with its covers and their files, and of a file without a cover. */
  blockOfGame(id: Id): string;
  blockOfFile(cover: Id): string;
  /**
   * Whether a game that is not read has the path of one that is, and a lower id.
   * @throws Error if it has a higher one: then all rows must be read
   */
  isTaken(platform: PlatformNumber, slug: string, id: Id): boolean;
  /** Whether a game that is not read is published. */
  isKept(id: Id): boolean;
}

/**
 * Some games and some covers, by conditions in SQL. A run that reads only these, with all platforms and the files of
 * these covers, shows what a whole run would do with them.
 */
export interface PartOfCatalogue {
  readonly games: string;
  readonly covers: string;
}

/** What the tables are read with, and those that are read whole in every run. */
export interface Reading {
  readonly reader: Reader;
  readonly readTable: ReadTable;
  readonly report: Report;
  readonly platforms: Platforms;
  readonly optional: OptionalTables;
  readonly filesUrl: string;
  readonly scope: Scope;
}

/** The platforms of the catalogue. */
export interface Platforms {
  /** Sorted by name, then slug. */
  readonly platforms: readonly Platform[];
  /** The number of each platform by its id. */
  readonly numberOf: ReadonlyMap<string, PlatformNumber>;
  /** All ids in the table, including those of platforms that were left out. */
  readonly allIds: ReadonlySet<string>;
  /** A text of all that, to compare. */
  readonly asText: string;
}

export async function readRows(reading: Reading): Promise<Rows> {
  const games = await readGames(reading);
  const covers = await readCovers(reading, games);
  const files = await readFiles(reading, games, covers);
  const { optional, report, platforms, scope } = reading;
  const isPublished = (id: Id) => {
    const row = findId(games.ids, games.count, id);
    return row === undefined ? scope.isKept(id) : games.platform[row] !== NONE;
  };
  const titles = checkTitles(optional, report, isPublished);
  const externalIds = checkIds(optional, report, platforms, isPublished);
  return { games, covers, files, titles, externalIds };
}

export async function readPlatforms(readTable: ReadTable): Promise<Platforms> {
  const found: Platform[] = [];
  const allIds = new Set<string>();
  const taken = new Set<string>();
  const slugs = new Set<string>();
  await readTable('platforms', {
    columns: Object.keys(PLATFORM).join(', '),
    blockOf: () => NO_BLOCK,
    take(row, note) {
      check.checkId(row[PLATFORM.id]);
      const id = String(row[PLATFORM.id]);
      allIds.add(id);
      const slug = check.checkSlug(row[PLATFORM.slug]);
      const name = check.checkText(row[PLATFORM.name], 'name');
      if (taken.has(id)) throw new RowFault('the id appears twice', row[PLATFORM.id]);
      if (slugs.has(slug)) throw new RowFault('the slug appears twice', slug);
      check.noteOddText(name, 'name', note);
      taken.add(id);
      slugs.add(slug);
      found.push({ id, slug, name });
    },
  });
  const collator = makeCollator();
  found.sort(
    (a, b) =>
      collator.compare(a.name, b.name) ||
      compareUnits(a.name, b.name) ||
      compareUnits(a.slug, b.slug),
  );
  return {
    platforms: found,
    numberOf: new Map(found.map(({ id }, number) => [id, numberAt(number)])),
    allIds,
    asText: JSON.stringify([found, [...allIds]]),
  };
}

function makeGameRows(count: number) {
  return {
    ids: makeIds<GameRow>(count),
    platform: makeColumn<GameRow, PlatformNumber | None>(count, NONE),
    ...makeNumberColumns<'game', GameRow>('game', count),
    texts: new RowTexts<GameRow>(count),
  };
}

async function readGames(reading: Reading): Promise<GameRows> {
  const { readTable, platforms, scope } = reading;
  let games = makeGameRows(0);
  const values = makeValues<'game', GameRow>('game', GAME, scope.values);
  // A slug that appears twice would be found in the records, too, but then its row is reported too late.
  const slugs = new Map<number, Set<string>>();
  const nextId = makeIdCheck();
  let count = 0;
  await readTable('games', {
    columns: Object.keys(GAME).join(', '),
    selection: scope.games,
    begin(rows) {
      games = makeGameRows(rows);
      values.begin(rows);
    },
    blockOf: (row) => blockOfGame(scope, row[GAME.id]),
    pathOf(row) {
      const number = platforms.numberOf.get(String(row[GAME.platform_id])) ?? -1;
      return `${platforms.platforms[number]?.slug}/${row[GAME.slug]}`;
    },
    take(row, note) {
      const id = nextId(row[GAME.id]);
      const index = numberAt<GameRow>(count++);
      setId(games.ids, index, id);
      const platformId = String(row[GAME.platform_id]);
      const platform = platforms.numberOf.get(platformId);
      if (platform === undefined) {
        const isLeftOut = platforms.allIds.has(platformId);
        const reason =
          row[GAME.platform_id] === null
            ? 'platform_id is NULL'
            : isLeftOut
              ? 'its platform is left out'
              : 'the platform does not exist';
        throw new RowFault(reason, row[GAME.platform_id], { isConsequence: true });
      }
      const slug = check.checkSlug(row[GAME.slug]);
      const title = check.checkText(row[GAME.title], 'title');
      const year = check.checkOptionalYear(row[GAME.release_year], note);
      games.texts.add(index, check.encodeValues(row, GAME_MEMBERS, String(year), note));
      values.read(row, index);
      const taken = getOrAdd(slugs, platform, () => new Set<string>());
      if (taken.has(slug) || scope.isTaken(platform, slug, id)) {
        const reason = 'the slug appears twice on its platform';
        throw new RowFault(reason, slug, { dependsOn: 'other blocks' });
      }
      taken.add(slug);
      games.platform[index] = platform;
      games.year[index] = year ?? NO_YEAR;
      games.titleHash[index] = hashTitle(title);
    },
  });
  return { ...games, count, values: values.all() };
}

/** The block of the game with an id, which may be a wrong value. */
function blockOfGame(scope: Scope, value: Value): string | undefined {
  const id = readId(value);
  return id && scope.blockOfGame(id);
}

/** Every other status is an intention of the site, so the cover is not public. Compared byte for byte. */
export const APPROVED = 'approved';

export type StatusCounts = readonly (readonly [status: Value, covers: number])[];

/** How many covers are not public, by status. */
export async function countNotPublic(reader: Reader): Promise<StatusCounts> {
  // HEX: the collation of the column may take "Approved" for "approved".
  const sql = 'SELECT MIN(status), COUNT(*) FROM covers GROUP BY status IS NULL, HEX(status)';
  return (await reader.rows(sql))
    .filter(([status]) => status !== APPROVED)
    .map(([status = null, count]) => [status, Number(count)]);
}

function makeCoverRows(count: number) {
  return {
    ids: makeIds<CoverRow>(count),
    game: makeColumn<CoverRow, GameRow | None>(count, NONE),
    ...makeNumberColumns<'cover', CoverRow>('cover', count),
    firstFile: makeColumn<CoverRow, FileRow | None>(count, NONE),
    lastFile: makeColumn<CoverRow, FileRow | None>(count),
  };
}

async function readCovers(reading: Reading, games: GameRows): Promise<CoverRows> {
  const { readTable, report, scope } = reading;
  let covers = makeCoverRows(0);
  const values = makeValues<'cover', CoverRow>('cover', COVER, scope.values);
  const nextId = makeIdCheck();
  let count = 0;
  const soon = Date.now() / 1000 + 60;
  const blockOf = (row: Row) => blockOfGame(scope, row[COVER.game_id]);
  await readTable('covers', {
    columns: Object.keys(COVER).join(', '),
    selection: scope.covers,
    begin(rows) {
      covers = makeCoverRows(rows);
      values.begin(rows);
    },
    blockOf,
    take(row, note) {
      const id = nextId(row[COVER.id]);
      const index = numberAt<CoverRow>(count++);
      setId(covers.ids, index, id);
      if (row[COVER.status] !== APPROVED) return;
      const gameId = check.checkId(row[COVER.game_id], 'game_id');
      const game = findId(games.ids, games.count, gameId);
      if (game === undefined)
        throw new RowFault('the game does not exist', row[COVER.game_id], { isConsequence: true });
      values.read(row, index, note);
      const approvedAt = check.checkOptionalTime(row[COVER.approved_at], 'approved_at');
      if (games.platform[game] === NONE) {
        report.addConsequence(blockOf(row));
        return;
      }
      if (Number.isNaN(approvedAt) && row[COVER.approved_at] !== null) {
        note(
          'approved_at is zero or empty: served as null, and not among the recent ones',
          row[COVER.approved_at],
        );
      }
      // Clocks differ a little; a time zone makes a difference of at least a quarter of an hour.
      if (approvedAt > soon)
        note('approved_at is in the future, perhaps because it is not UTC', encodeTime(approvedAt));
      covers.game[index] = game;
      covers.approvedAt[index] = approvedAt;
    },
  });
  return { ...covers, count, values: values.all() };
}

const COVERS_PER_QUERY = 1_000;

function makeFileRows(count: number) {
  const next = makeColumn<FileRow, FileRow | None>(count);
  return { next, texts: new RowTexts<FileRow>(count) };
}

/**
 * Reads the files of published covers. They come in the order of their own ids: to order them by cover, the
 * server would sort the whole table first, which takes longer than reading it.
 */
async function readFiles(reading: Reading, games: GameRows, covers: CoverRows): Promise<FileRows> {
  const { readTable, scope, filesUrl } = reading;
  let files = makeFileRows(0);
  const nextId = makeIdCheck();
  let count = 0;
  const coverOf = (id: Id) => findId(covers.ids, covers.count, id);
  await readTable('cover_files', {
    columns: Object.keys(FILE).join(', '),
    selection: scope.covers && { conditions: filesOf(covers), rows: undefined },
    begin(rows) {
      files = makeFileRows(rows);
    },
    blockOf(row) {
      const id = readId(row[FILE.cover_id]);
      const cover = id && coverOf(id);
      // A file without a cover is a fault of the block of its cover.
      if (cover === undefined) return id && scope.blockOfFile(id);
      const game = covers.game[cover];
      return game === NONE ? undefined : scope.blockOfGame(idOf(games.ids, game));
    },
    take(row, note) {
      nextId(row[FILE.id]);
      const cover = coverOf(check.checkId(row[FILE.cover_id], 'cover_id'));
      if (cover === undefined) throw noCover(row[FILE.cover_id]);
      if (covers.game[cover] === NONE) return;
      const url = check.checkFileUrl(row[FILE.path], filesUrl);
      check.noteOddText(String(row[FILE.path]), 'path', note, 'path');
      const file = numberAt<FileRow>(count++);
      const address = check.encodeUrl(url, filesUrl);
      files.texts.add(file, check.encodeValues(row, FILE_MEMBERS, address, note));
      files.next[file] = NONE;
      const last = covers.lastFile[cover];
      if (covers.files[cover]++ === 0) covers.firstFile[cover] = file;
      else if (last !== NONE) files.next[last] = file;
      covers.lastFile[cover] = file;
    },
  });
  if (scope.loose !== undefined) await findLooseFiles(reading, scope.loose);
  warnOfCoversWithoutFiles(reading, games, covers);
  return files;
}

const WITHOUT_FILES =
  'the cover is approved and has no files: served without, and never as the best of its game';

function warnOfCoversWithoutFiles(
  { report, scope }: Reading,
  games: GameRows,
  { ids, game, files }: CoverRows,
): void {
  for (const cover of indexesOf(game)) {
    const ofGame = game[cover];
    if (files[cover] > 0 || ofGame === NONE) continue;
    const block = scope.blockOfGame(idOf(games.ids, ofGame));
    report.warn('covers', block, valueOfId(idOf(ids, cover)), WITHOUT_FILES, null);
  }
}

function noCover(cover: Value): RowFault {
  return new RowFault('the cover does not exist', cover, { isConsequence: true });
}

/** Reports the files in changed blocks that have no cover. */
async function findLooseFiles(
  { reader, readTable, scope }: Reading,
  { files, covers }: NonNullable<Scope['loose']>,
): Promise<void> {
  const found = await readSelected(reader, 'covers', 'id', covers);
  const ids = new Set(found.map(([id]) => String(id)));
  await readTable('cover_files', {
    columns: 'id, cover_id',
    selection: files,
    blockOf([, cover = null]) {
      const id = readId(cover);
      return id && scope.blockOfFile(id);
    },
    take([, cover = null]) {
      check.checkId(cover, 'cover_id');
      if (!ids.has(String(cover))) throw noCover(cover);
    },
  });
}

/** Conditions in SQL that choose the files of published covers. */
function* filesOf({ ids, game }: CoverRows): Generator<string> {
  const published = Array.from(indexesOf(game), (cover) => textOfId(idOf(ids, cover)));
  for (let from = 0; from < published.length; from += COVERS_PER_QUERY)
    yield `cover_id IN (${published.slice(from, from + COVERS_PER_QUERY).join(',')})`;
}

/** The columns of numbers of rows. */
function makeNumberColumns<Owner extends 'game' | 'cover', Of extends number>(
  owner: Owner,
  count: number,
) {
  const columns = Object.entries(NUMBER_COLUMNS[owner]).map(([name, Type]) => [
    name,
    columnOf<Of, number>(new Type(count)),
  ]);
  type Name = keyof (typeof NUMBER_COLUMNS)[Owner];
  return Object.fromEntries(columns) as { readonly [Each in Name]: Column<Of, number> };
}

/**
 * Reads the values by which games are filtered.
 * @param owner whose rows are read @param positions those of their columns
 * @param before the distinct values that are numbered already
 */
function makeValues<Owner extends 'game' | 'cover', Of extends number>(
  owner: Owner,
  positions: Readonly<Record<string, number>>,
  before: Scope['values'],
) {
  const names = filterNamesOf(owner);
  const columns = names.map((name) => {
    const { column } = filterRow(name);
    const position = positions[column];
    if (position === undefined)
      throw new Error(`The filter ${name} needs ${column}, which is not read.`);
    const numbers = new Uint32Array(0);
    return { name, column, position, numbers, ...numberValues(column, before[name]) };
  });
  return {
    /** @param count how many rows there will be at most */
    begin(count: number): void {
      for (const each of columns) each.numbers = new Uint32Array(count);
    },
    /** @param note undefined if damage is noted elsewhere */
    read(row: Row, index: Of, note?: check.Note): void {
      for (const { column, position, numbers, values, numberOf } of columns) {
        const number = numberOf(row[position]);
        if (note !== undefined) check.noteOddText(values[number], column, note);
        numbers[index] = number;
      }
    },
    all(): Readonly<Record<FilterOf<Owner>, Values<Of>>> {
      const found = columns.map(({ name, values, numbers }) => {
        return [name, { texts: values, column: columnOf<Of, number>(numbers) }];
      });
      return Object.fromEntries(found);
    },
  };
}

/** Numbers the distinct values of a column, after those that have numbers; null and the empty text are number 0. */
function numberValues(column: string, before: readonly (string | null)[]) {
  const values = [...before];
  const numbers = new Map(values.map((value, number) => [value, number]));
  return {
    values,
    numberOf(value: Value): number {
      const text = check.checkOptionalText(value, column);
      if (text === null) return 0;
      const known = numbers.get(text);
      if (known !== undefined) return known;
      numbers.set(text, values.length);
      return values.push(text) - 1;
    },
  };
}
