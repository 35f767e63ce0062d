/**
 * Writes the indexes that find the records: `index/games.bin`, `index/paths.bin`, `index/covers.bin`;
 * `index/titles.bin` with alternative titles; and `index/filters.bin` with the ranks of the games for each
 * value by which a search can be filtered.
 */

import { encodeColumns } from '../../lib/format/index/columns.ts';
import { type IdColumns, textOfId } from '../../lib/format/index/ids.ts';
import { NO_VALUE } from '../../lib/format/index/record-index.ts';
import {
  entriesAt,
  type FilterIndex,
  type Postings,
  textAt,
  textCount,
} from '../../lib/format/index/search-index.ts';
import type { TitleColumns } from '../../lib/format/index/titles.ts';
import { foldCase } from '../../lib/format/index/words.ts';
import {
  COVER_INDEX,
  FILTER_INDEX,
  GAME_INDEX,
  PATH_INDEX,
  TITLE_INDEX,
} from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { groupsOf } from '../columns.ts';
import { getOrAdd } from '../get-or-add.ts';
import { makeGameItems } from '../order/items.ts';
import type { Numbering } from '../order/numbering.ts';
import { merge } from '../order/title-order.ts';
import { type Ids, LEFT_OUT, NO_YEAR, publishedRows } from '../read/catalogue.ts';
import { writeWhole } from './file-writer.ts';
import type { WriteSource } from './packs.ts';

/** The packs of games must be complete. */
export function writeGameIndex(source: WriteSource): Promise<ManifestFile> {
  const { byteOffset: offset, byteLength: length, hash } = source.positions.games;
  const { firstCover } = source.numbering;
  return writeWhole(source.dir, GAME_INDEX, encodeColumns({ offset, length, hash, firstCover }));
}

/** Links the index if no path, id or title has changed. */
export function writePathIndex(source: WriteSource): Promise<ManifestFile> {
  const { dir, games, numbering, earlier } = source;
  const linked = numbering.isSame ? earlier?.link(dir, PATH_INDEX) : undefined;
  if (linked !== undefined) return Promise.resolve(linked);
  const { itemOfGame, itemOfRank, rankOfGame, numberOfGame, firstGame } = numbering;
  const { slug } = makeGameItems(games, earlier);
  const slugs = Array.from(itemOfGame, slug);
  const slugStart = startsOfLists(slugs);
  const slugText = new Uint8Array(slugStart[slugs.length]);
  Buffer.from(slugText.buffer).write(slugs.join(''), 'latin1');
  const bySlug = Uint32Array.from(slugs.keys());
  for (const platform of source.platforms.keys())
    bySlug
      .subarray(firstGame[platform], firstGame[platform + 1])
      .sort((a, b) => (slugs[a] < slugs[b] ? -1 : 1));
  const columns = {
    rank: rankOfGame,
    gameOfRank: itemOfRank.map((item) => numberOfGame[item]),
    slugStart,
    slugText,
    bySlug,
    ...idColumns(
      games.ids,
      publishedRows(games.platform, games.rows),
      numberOfGame,
      earlier?.index.games,
    ),
  };
  return writeWhole(dir, PATH_INDEX, encodeColumns(columns));
}

/** Links the file if no title, path or alternative title has changed. */
export function writeTitles(source: WriteSource): Promise<ManifestFile> {
  const { dir, games, numbering, titles, earlier } = source;
  const linked = numbering.isSame && titles.areSame ? earlier?.link(dir, TITLE_INDEX) : undefined;
  if (linked !== undefined) return Promise.resolve(linked);
  const { id } = makeGameItems(games, earlier);
  const game: number[] = [];
  const json: Buffer[] = [];
  for (let number = 0; titles.of.size > 0 && number < numbering.itemOfGame.length; number++) {
    const found = titles.of.get(textOfId(id(numbering.itemOfGame[number])));
    if (found === undefined) continue;
    game.push(number);
    json.push(Buffer.from(JSON.stringify(found.map((title) => title.toWellFormed()))));
  }
  const columns: TitleColumns = {
    game: Uint32Array.from(game),
    start: startsOfLists(json),
    json: Buffer.concat(json),
  };
  return writeWhole(dir, TITLE_INDEX, encodeColumns(columns));
}

/** The packs of covers must be complete. @returns the file, and the ids of the covers */
export async function writeCoverIndex(source: WriteSource) {
  const { dir, covers, numbering, positions, earlier } = source;
  const published = publishedRows(covers.game, covers.rows);
  const ids = idColumns(covers.ids, published, numbering.numberOfCover, earlier?.index.covers);
  const { byteOffset: offset, byteLength: length, hash } = positions.covers;
  const columns = {
    ...{ offset, length, hash },
    ...ids,
    region: valueColumn(source, 'region'),
    type: valueColumn(source, 'type'),
    orderOfId: orderOfIdColumn(ids, numbering),
  };
  return { file: await writeWhole(dir, COVER_INDEX, encodeColumns(columns)), ids };
}

/**
 * The columns that find a record by its id.
 * @param rows those of published records, in the order of their ids
 * @param numberOf for each item, the number of its record, or LEFT_OUT
 */
function idColumns(
  ids: Ids,
  rows: Uint32Array,
  numberOf: Uint32Array,
  earlier?: IdColumns,
): IdColumns {
  const before = earlier?.numberOfId ?? new Uint32Array(0);
  // A position is the index of an earlier id, or that of a row after all of these.
  const itemAt = (at: number) => before[at] ?? at;
  const highAt = (at: number) => ids.high[at - before.length] ?? earlier?.idHigh[at] ?? 0;
  const lowAt = (at: number) => ids.low[at - before.length] ?? earlier?.idLow[at] ?? 0;
  const order = merge(
    [...before.keys()].filter((at) => numberOf[before[at]] !== LEFT_OUT),
    rows.map((row) => before.length + row),
    (a, b) => highAt(a) - highAt(b) || lowAt(a) - lowAt(b),
  );
  const idHigh = order.map(highAt);
  return {
    idHigh: idHigh.some((half) => half !== 0) ? idHigh : new Uint32Array(0),
    idLow: order.map(lowAt),
    numberOfId: order.map((at) => numberOf[itemAt(at)]),
  };
}

/** The index of each cover's region, or type, in those of the search index. */
function valueColumn(
  { covers, numbering, earlier }: WriteSource,
  name: 'region' | 'type',
): Uint16Array {
  const list = name === 'region' ? 'regions' : 'types';
  const { itemOfCover, earlierCovers } = numbering;
  const texts = covers[list].map((value) => value && foldCase(value));
  const earlierValue = earlier?.index.covers[name];
  const earlierTexts = earlier === undefined ? [] : textsOf(earlier.filters()[list]);
  const published = new Set<string>();
  const textOf = (item: number): string | null | undefined =>
    earlierValue !== undefined && item < earlierCovers
      ? earlierTexts[earlierValue[item]]
      : texts[covers[name][item - earlierCovers]];
  for (const item of itemOfCover) {
    const text = textOf(item);
    if (text !== null && text !== undefined) published.add(text);
  }
  const indexOf = new Map(
    [...published].sort().map((text, index) => [text, Math.min(index, NO_VALUE)]),
  );
  return Uint16Array.from(itemOfCover, (item) => indexOf.get(textOf(item) ?? '') ?? NO_VALUE);
}

function textsOf(postings: Postings): string[] {
  return Array.from({ length: textCount(postings) }, (_, index) => textAt(postings, index));
}

/** For each cover, its index among those of its game in the order of their ids. */
function orderOfIdColumn({ numberOfId }: IdColumns, { firstCover }: Numbering): Uint16Array {
  const gameOf = groupsOf(firstCover);
  const next = new Uint32Array(firstCover.length);
  const orderOfId = new Uint16Array(numberOfId.length);
  for (const cover of numberOfId) orderOfId[cover] = Math.min(next[gameOf[cover]]++, 0xffff);
  return orderOfId;
}

export function writeFilters(source: WriteSource): Promise<ManifestFile> {
  const { dir, games, covers, numbering, earlier } = source;
  const { itemOfRank, earlierGames, earlierCovers } = numbering;
  const { numberOfGame, firstCover, itemOfCover } = numbering;
  const before = earlier?.filters();
  const rankNow = new Uint32Array(earlierGames).fill(LEFT_OUT);
  itemOfRank.forEach((item, rank) => {
    if (earlier !== undefined && item < earlierGames)
      rankNow[earlier.index.games.rank[item]] = rank;
  });

  /** Collects the ranks of games by their values, those of kept games first. */
  const collect = (values: readonly (string | null)[], known: Postings | undefined) => {
    const byText = new Map<string, number[]>();
    for (let at = 0; known !== undefined && at < textCount(known); at++) {
      const kept = Array.from(entriesAt(known, at), (rank) => rankNow[rank]);
      byText.set(
        textAt(known, at),
        kept.filter((rank) => rank !== LEFT_OUT),
      );
    }
    const ranksOf = values.map((value) =>
      value === null ? undefined : getOrAdd(byText, foldCase(value), () => []),
    );
    return {
      add(value: number, rank: number) {
        const ranks = ranksOf[value];
        // A game can have the same value several times.
        if (ranks !== undefined && ranks.at(-1) !== rank) ranks.push(rank);
      },
      postings() {
        if (known !== undefined) for (const ranks of byText.values()) ranks.sort((a, b) => a - b);
        return makePostings(byText);
      },
    };
  };
  const genres = collect(games.genres, before?.genres);
  const regions = collect(covers.regions, before?.regions);
  const types = collect(covers.types, before?.types);
  const yearAt = new Int16Array(itemOfRank.length).fill(NO_YEAR);
  itemOfRank.forEach((item, rank) => {
    if (item < earlierGames) return;
    const row = item - earlierGames;
    yearAt[rank] = games.year[row];
    genres.add(games.genresOf[row], rank);
    const number = numberOfGame[item];
    for (let cover = firstCover[number]; cover < firstCover[number + 1]; cover++) {
      const coverRow = itemOfCover[cover] - earlierCovers;
      regions.add(covers.region[coverRow], rank);
      types.add(covers.type[coverRow], rank);
    }
  });
  before?.yearOfRank.forEach((year, rank) => {
    if (rankNow[rank] !== LEFT_OUT && year < before.years.length)
      yearAt[rankNow[rank]] = before.years[year];
  });
  const years = Int32Array.from(new Set(yearAt))
    .filter((year) => year !== NO_YEAR)
    .sort();
  const indexOfYear = new Map(Array.from(years, (year, index) => [year, index]));
  const filters: FilterIndex = {
    regions: regions.postings(),
    types: types.postings(),
    genres: genres.postings(),
    years,
    yearOfRank: Uint16Array.from(yearAt, (year) => indexOfYear.get(year) ?? years.length),
  };
  return writeWhole(dir, FILTER_INDEX, encodeColumns(filters));
}

/** @param entriesOf for each text, its entries in ascending order; texts without entries are left out */
export function makePostings(entriesOf: ReadonlyMap<string, readonly number[]>): Postings {
  const texts = [...entriesOf]
    .filter(([, entries]) => entries.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const entriesStart = startsOfLists(texts.map(([, entries]) => entries));
  const entries = new Uint32Array(entriesStart[texts.length]);
  for (const [at, [, list]] of texts.entries()) entries.set(list, entriesStart[at]);
  return { ...encodeTexts(texts.map(([text]) => text)), entries, entriesStart };
}

/** Texts one after another as UTF-16 code units, and where each of them starts. */
export function encodeTexts(texts: readonly string[]): Pick<Postings, 'text' | 'textStart'> {
  const textStart = startsOfLists(texts);
  const text = new Uint16Array(textStart[texts.length]);
  Buffer.from(text.buffer).write(texts.join(''), 'utf16le');
  return { text, textStart };
}

/** Where each list or text starts if all come one after another, and at the end where the last one ends. */
function startsOfLists(lists: readonly { readonly length: number }[]): Uint32Array {
  const starts = new Uint32Array(lists.length + 1);
  lists.forEach(({ length }, at) => {
    starts[at + 1] = starts[at] + length;
  });
  return starts;
}
