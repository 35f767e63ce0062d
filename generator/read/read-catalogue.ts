/**
 * Reads the tables of the catalogue, all rows or those of some blocks, and checks each row. Rows that break
 * the contract are left out and reported.
 */

import type { Reader, Row, Value } from '../../lib/database/database.ts';
import { compareIds, textOfId } from '../../lib/format/index/ids.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import { getOrAdd } from '../get-or-add.ts';
import { makeCollator } from '../order/title-order.ts';
import { NO_BLOCK, type Report } from '../report/report.ts';
import type { EarlierGeneration } from '../reuse/earlier-generation.ts';
import { blockOf, type Changes, rangesOf, rowsIn, type Shifts } from '../reuse/find-changes.ts';
import {
  COVER_COLUMNS,
  FILE_COLUMNS,
  fileValues,
  GAME_COLUMNS,
  gameValues,
} from '../write/records.ts';
import {
  type Covers,
  type Files,
  findId,
  type Games,
  LEFT_OUT,
  makeCovers,
  makeFiles,
  makeGames,
  makeTexts,
  NO_YEAR,
  type Platform,
  publishedRows,
  readId,
} from './catalogue.ts';
import { makeIdCheck, type ReadTable, type Selection } from './read-table.ts';
import * as check from './row-checks.ts';
import { RowFault } from './row-checks.ts';

/** The blocks to read, if not all, and the games of the others. */
type Part = Changes & Pick<EarlierGeneration, 'keptWithPath'>;

/** What the tables are read with. */
export interface Source {
  readonly reader: Reader;
  readonly readTable: ReadTable;
  readonly report: Report;
  readonly shifts: Shifts;
  readonly platforms: Platforms;
  readonly settings: Settings;
  /** Undefined if all rows are read. */
  readonly part: Part | undefined;
}

/** Thrown if a game that was read takes the path of one that is not: that one must be read, too. */
export class PathTaken extends Error {
  readonly block: string;
  constructor(block: string) {
    super(`block ${block} has a game whose path is taken`);
    this.block = block;
  }
}

/** The rows of the changed blocks of games. @param group whose column names the game */
function selectionOf(group: 'games' | 'covers', { part, shifts }: Source): Selection | undefined {
  if (part === undefined) return undefined;
  let rows = 0;
  for (const block of part.games) rows += rowsIn(part.fingerprints[group][block]);
  return { conditions: rangesOf(group, part.games, shifts), rows };
}

/** The block of the games with an id, for findings; a key of its own kind. */
const gameBlock = (block: string) => `games ${block}`;
const fileBlock = (block: string) => `files ${block}`;

/** Whether the findings of a block are those of an earlier run, of which some blocks are read again. */
export function isKeptBlock(block: string, { games, files }: Changes): boolean {
  const [kind, number = ''] = block.split(' ');
  return kind === 'games' ? !games.has(number) : kind === 'files' && !files.has(number);
}

function gameBlockOf(shifts: Shifts, id: Value): string | undefined {
  const halves = readId(id);
  return halves && gameBlock(blockOf(halves, shifts.game));
}

export type Platforms = Awaited<ReturnType<typeof readPlatforms>>;

/**
 * @returns `platforms`, sorted by name, then slug; `numberOf`, the number of each platform by its id;
 * `known`, all ids in the table, including those of platforms that were left out; `asText`, a text of all
 * that
 */
export async function readPlatforms(readTable: ReadTable) {
  const found: (Platform & { id: string })[] = [];
  const known = new Set<string>();
  const taken = new Set<string>();
  const slugs = new Set<string>();
  await readTable('platforms', {
    columns: 'id, slug, name',
    blockOf: () => NO_BLOCK,
    take(row, note) {
      check.checkId(row[0]);
      const id = String(row[0]);
      known.add(id);
      const slug = check.checkSlug(row[1]);
      const name = check.checkText(row[2], 'name');
      if (taken.has(id)) throw new RowFault('the id appears twice', row[0]);
      if (slugs.has(slug)) throw new RowFault('the slug appears twice', slug);
      check.noteDamage(name, 'name', note);
      taken.add(id);
      slugs.add(slug);
      found.push({ id, slug, name });
    },
  });
  const collator = makeCollator();
  const byUnits = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  found.sort(
    (a, b) =>
      collator.compare(a.name, b.name) || byUnits(a.name, b.name) || byUnits(a.slug, b.slug),
  );
  return {
    platforms: found.map(({ slug, name }): Platform => ({ slug, name })),
    numberOf: new Map(found.map(({ id }, number) => [id, number])),
    known,
    asText: JSON.stringify([found, [...known]]),
  };
}

/** @throws PathTaken */
export async function readGames(source: Source): Promise<Games> {
  const { readTable, shifts, platforms, part } = source;
  let games = makeGames(0);
  const texts = makeTexts();
  const genres = numberValues('genres');
  // A slug that appears twice would be found in the records, too, but then its row is reported too late.
  const slugs = new Map<number, Set<string>>();
  const nextId = makeIdCheck();
  let rows = 0;
  await readTable('games', {
    columns: GAME_COLUMNS,
    selection: selectionOf('games', source),
    begin(count) {
      games = makeGames(count);
    },
    blockOf: (row) => gameBlockOf(shifts, row[0]),
    pathOf: ([, platform, slug]) =>
      `${platforms.platforms[platforms.numberOf.get(String(platform)) ?? -1]?.slug}/${slug}`,
    take(row, note) {
      const { high, low } = nextId(row[0]);
      const index = rows++;
      // Memory to which nothing was written takes none, and nearly all upper halves are 0.
      if (high !== 0) games.ids.high[index] = high;
      games.ids.low[index] = low;
      const platformId = String(row[1]);
      const platform = platforms.numberOf.get(platformId);
      if (platform === undefined) {
        const isKnown = platforms.known.has(platformId);
        const reason = isKnown ? 'its platform is left out' : 'the platform does not exist';
        throw new RowFault(reason, row[1], { isConsequence: true });
      }
      const slug = check.checkSlug(row[2]);
      check.checkText(row[3], 'title');
      const year = check.checkOptionalYear(row[4], note);
      texts.add(games, index, gameValues(row, year, note));
      const genre = genres.numberOf(row[6]);
      const isTwice = () =>
        new RowFault('the slug appears twice on its platform', slug, { dependsOn: 'other blocks' });
      const taken = getOrAdd(slugs, platform, () => new Set<string>());
      if (taken.has(slug)) throw isTwice();
      const kept = part?.keptWithPath(platform, slug);
      if (kept !== undefined) {
        if (compareIds(kept, [high, low]) < 0) throw isTwice();
        throw new PathTaken(blockOf(kept, shifts.game));
      }
      taken.add(slug);
      games.platform[index] = platform;
      games.year[index] = year ?? NO_YEAR;
      games.genresOf[index] = genre;
    },
  });
  return { ...games, rows, genres: genres.values, texts: texts.texts };
}

export async function readCovers(source: Source, games: Games): Promise<Covers> {
  const { readTable, report, shifts } = source;
  let covers = makeCovers(0);
  const regions = numberValues('region');
  const types = numberValues('type');
  const nextId = makeIdCheck();
  let rows = 0;
  let lastGame = 0;
  const blockOfRow = (row: Row) => gameBlockOf(shifts, row[1] ?? null);
  await readTable('covers', {
    columns: COVER_COLUMNS,
    selection: selectionOf('covers', source),
    begin(count) {
      covers = makeCovers(count);
    },
    blockOf: blockOfRow,
    take(row, note) {
      const { high, low } = nextId(row[0]);
      const index = rows++;
      if (high !== 0) covers.ids.high[index] = high;
      covers.ids.low[index] = low;
      if (!check.isApproved(row[4] ?? null, note)) return;
      const gameId = check.checkId(row[1], 'game_id');
      const game = findId(games.ids, games.rows, gameId, lastGame);
      if (game < 0) throw new RowFault('the game does not exist', row[1], { isConsequence: true });
      lastGame = game;
      const region = regions.numberOf(row[2]);
      check.noteDamage(regions.values[region], 'region', note);
      const type = types.numberOf(row[3]);
      check.noteDamage(types.values[type], 'type', note);
      const approvedAt = check.checkOptionalTime(row[5], 'approved_at');
      if (games.platform[game] === LEFT_OUT) {
        report.addConsequence(blockOfRow(row));
        return;
      }
      if (Number.isNaN(approvedAt) && row[5] !== null) {
        note('approved_at is zero or empty: served as null, and not among the recent ones', row[5]);
      }
      covers.game[index] = game;
      covers.region[index] = region;
      covers.type[index] = type;
      covers.approvedAt[index] = approvedAt;
    },
  });
  return { ...covers, rows, regions: regions.values, types: types.values };
}

const COVERS_PER_QUERY = 1_000;

/**
 * Reads the files of published covers. They come in the order of their own ids: to order them by cover, the
 * server would sort the whole table first, which takes longer than reading it.
 */
export async function readFiles(source: Source, games: Games, covers: Covers): Promise<Files> {
  const { readTable, shifts, part } = source;
  const { files_url: filesUrl } = source.settings;
  let files = makeFiles(0);
  const texts = makeTexts();
  const nextId = makeIdCheck();
  let count = 0;
  let cover = 0;
  await readTable('cover_files', {
    columns: FILE_COLUMNS,
    selection: part && { conditions: filesOf(covers), rows: undefined },
    begin(rows) {
      files = makeFiles(rows);
    },
    blockOf(row) {
      const id = readId(row[1] ?? null);
      const found = id === undefined ? -1 : findId(covers.ids, covers.rows, id, cover);
      // A file without a cover is a fault of the block of its cover.
      if (found < 0) return id && fileBlock(blockOf(id, shifts.cover));
      const { high, low } = games.ids;
      const game = covers.game[found];
      return game === LEFT_OUT
        ? undefined
        : gameBlock(blockOf([high[game], low[game]], shifts.game));
    },
    take(row, note) {
      nextId(row[0]);
      const coverId = check.checkId(row[1], 'cover_id');
      const found = findId(covers.ids, covers.rows, coverId, cover);
      if (found < 0) throw noCover(row);
      cover = found;
      if (covers.game[cover] === LEFT_OUT) return;
      const url = check.checkFileUrl(row[7], filesUrl);
      check.noteDamage(String(row[7]), 'path', note);
      texts.add(files, count, fileValues(row, url, filesUrl, note));
      const file = count++;
      files.next[file] = LEFT_OUT;
      if (covers.firstFile[cover] === LEFT_OUT) covers.firstFile[cover] = file;
      else files.next[covers.lastFile[cover]] = file;
      covers.lastFile[cover] = file;
    },
  });
  if (part !== undefined) await findLostFiles(source, part);
  return { ...files, texts: texts.texts };
}

function noCover(row: Row): RowFault {
  return new RowFault('the cover does not exist', row[1] ?? null, { isConsequence: true });
}

/** Reports the files in changed blocks that have no cover. */
async function findLostFiles(
  { reader, readTable, shifts }: Source,
  { files, fingerprints }: Part,
): Promise<void> {
  const covers = new Set<string>();
  for (const condition of rangesOf('cover_ids', files, shifts)) {
    for (const [id] of await reader.rows(`SELECT id FROM covers WHERE ${condition}`))
      covers.add(String(id));
  }
  let rows = 0;
  for (const block of files) rows += rowsIn(fingerprints.cover_files[block]);
  await readTable('cover_files', {
    columns: 'id, cover_id',
    selection: { conditions: rangesOf('cover_files', files, shifts), rows },
    blockOf(row) {
      const id = readId(row[1] ?? null);
      return id && fileBlock(blockOf(id, shifts.cover));
    },
    take(row) {
      check.checkId(row[1] ?? null, 'cover_id');
      if (!covers.has(String(row[1]))) throw noCover(row);
    },
  });
}

/** Conditions in SQL that choose the files of published covers. */
function* filesOf({ rows, ids, game }: Covers): Generator<string> {
  const published = publishedRows(game, rows);
  for (let from = 0; from < published.length; from += COVERS_PER_QUERY) {
    const some = Array.from(published.subarray(from, from + COVERS_PER_QUERY));
    yield `cover_id IN (${some.map((row) => textOfId([ids.high[row], ids.low[row]])).join(',')})`;
  }
}

/** Numbers the distinct values of a column; null is number 0, and so is the empty text. */
function numberValues(column: string) {
  const values: (string | null)[] = [null];
  const numbers = new Map<string, number>();
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
