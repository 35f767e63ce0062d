/**
 * Makes the columns of the indexes that find the records: `index/games.bin`, `index/paths.bin`,
 * `index/covers.bin`; `index/titles.bin` with alternative titles; and `index/filters.bin` with the ranks of the
 * games for each value by which a search can be filtered.
 */

import type { FilterIndex, Postings } from '../../find/search/open.ts';
import { foldCase } from '../../find/text/words.ts';
import type { Column } from '../../lib/columns/columns.ts';
import { groupsOf, NumberList, numbersOf, through } from '../../lib/columns/columns.ts';
import { type IdColumns, textOfId } from '../../lib/format/index/ids.ts';
import { NO_VALUE } from '../../lib/format/index/record-index.ts';
import type { TitleColumns } from '../../lib/format/index/titles.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { NO_YEAR } from '../rows/catalogue.ts';
import { compareUnits } from '../rows/collation.ts';
import { type Ids, idOf } from '../rows/ids.ts';
import type { CoverItem, Rank } from '../rows/numbers.ts';
import { next } from '../rows/numbers.ts';
import type { WriteSource } from './packs.ts';

export function gameColumns({ positions, numbering }: WriteSource) {
  const { byteOffset: offset, byteLength: length, hash } = positions.games;
  return { offset, length, hash, firstCover: numbering.firstCoverOfGame };
}

export function pathColumns({ games, numbering }: WriteSource) {
  const { itemOfGame, gameOfRank, rankOfGame, numberOfGame, firstGame } = numbering;
  const slugs = Array.from(itemOfGame, games.slug);
  const slugStart = startsOfLists(slugs);
  const slugText = new Uint8Array(slugStart[slugs.length]);
  Buffer.from(slugText.buffer).write(slugs.join(''), 'latin1');
  const bySlug = Uint32Array.from(slugs.keys());
  const compare = (a: number, b: number) => compareUnits(slugs[a], slugs[b]);
  firstGame.forEach((first, platform) => {
    bySlug.subarray(first, firstGame[next(platform)]).sort(compare);
  });
  return {
    rank: rankOfGame,
    gameOfRank,
    slugStart,
    slugText,
    bySlug,
    ...idColumns(games, numberOfGame),
  };
}

export function titleColumns({ games, numbering, titles }: WriteSource): TitleColumns {
  const game: number[] = [];
  const json: Buffer[] = [];
  if (titles.size > 0)
    numbering.itemOfGame.forEach((item, number) => {
      const found = titles.get(textOfId(idOf(games.ids, item)));
      if (found === undefined) return;
      game.push(number);
      json.push(Buffer.from(JSON.stringify(found.map((title) => title.toWellFormed()))));
    });
  return { game: Uint32Array.from(game), start: startsOfLists(json), json: Buffer.concat(json) };
}

export function coverColumns(source: WriteSource) {
  const { covers, numbering, positions } = source;
  const { numberOfCover, firstCoverOfGame } = numbering;
  const { byteOffset: offset, byteLength: length, hash } = positions.covers;
  const ids = idColumns(covers, numberOfCover);
  return {
    offset,
    length,
    hash,
    ...ids,
    region: valueColumn(source, covers.regions, covers.region),
    type: valueColumn(source, covers.types, covers.type),
    orderOfId: orderOfIdColumn(ids, firstCoverOfGame),
  };
}

/** The columns that find a record by its id. */
function idColumns<Item extends number>(
  { byId, ids }: { readonly byId: Column<number, Item>; readonly ids: Ids<Item> },
  numberOf: Column<Item, number>,
): IdColumns {
  const pick = (column: Column<Item, number>) => numbersOf(through(byId, column));
  const idHigh = pick(ids.high);
  return {
    idHigh: idHigh.some((half) => half !== 0) ? idHigh : new Uint32Array(0),
    idLow: pick(ids.low),
    numberOfId: pick(numberOf),
  };
}

/** For each cover, the index of its region, or type, among those of the search index: all that are published. */
function valueColumn(
  { numbering }: WriteSource,
  values: readonly (string | null)[],
  column: Column<CoverItem, number>,
): Uint16Array {
  const ofCovers = through(numbering.itemOfCover, column);
  const folded = values.map((value) => (value === null ? null : foldCase(value)));
  const published = new Set(Array.from(new Set(ofCovers), (value) => folded[value]));
  published.delete(null);
  const texts = [...published].sort();
  const indexes = folded.map((text) => (text === null ? NO_VALUE : texts.indexOf(text)));
  return new Uint16Array(numbersOf(ofCovers).map((value) => Math.min(indexes[value], NO_VALUE)));
}

/** For each cover, its index among those of its game in the order of their ids. */
function orderOfIdColumn(
  { numberOfId }: IdColumns,
  firstCoverOfGame: WriteSource['numbering']['firstCoverOfGame'],
): Uint16Array {
  const gameOf = numbersOf(groupsOf(firstCoverOfGame));
  const following = new Uint32Array(firstCoverOfGame.length);
  const orderOfId = new Uint16Array(numberOfId.length);
  for (const cover of numberOfId) orderOfId[cover] = Math.min(following[gameOf[cover]]++, 0xffff);
  return orderOfId;
}

export function filterColumns({ games, covers, numbering }: WriteSource): FilterIndex {
  const { itemOfRank, gameOfRank, firstCoverOfGame, itemOfCover } = numbering;
  const genres = collectRanks(games.genres);
  const regions = collectRanks(covers.regions);
  const types = collectRanks(covers.types);
  const yearAt = new Int32Array(itemOfRank.length);
  itemOfRank.forEach((game, rank) => {
    yearAt[rank] = games.year[game];
    genres.add(games.genre[game], rank);
    const number = gameOfRank[rank];
    for (let cover = firstCoverOfGame[number]; cover < firstCoverOfGame[next(number)]; cover++) {
      regions.add(covers.region[itemOfCover[cover]], rank);
      types.add(covers.type[itemOfCover[cover]], rank);
    }
  });
  const years = Int32Array.from(new Set(yearAt))
    .filter((year) => year !== NO_YEAR)
    .sort();
  const indexOfYear = new Map(Array.from(years, (year, index) => [year, index]));
  return {
    regions: regions.postings(),
    types: types.postings(),
    genres: genres.postings(),
    years,
    yearOfRank: Uint16Array.from(yearAt, (year) => indexOfYear.get(year) ?? years.length),
  };
}

/** Collects the ranks of games by their values, without regard to case. */
function collectRanks(values: readonly (string | null)[]) {
  const byText = new Map<string, NumberList>();
  const listOf = values.map((value) =>
    value === null ? undefined : getOrAdd(byText, foldCase(value), () => new NumberList(16)),
  );
  return {
    /** Ranks must ascend. */
    add(value: number, rank: Rank) {
      const list = listOf[value];
      // A game can have the same value several times.
      if (list?.last() !== rank) list?.add(rank);
    },
    postings: () =>
      makePostings(new Map(Array.from(byText, ([text, ranks]) => [text, ranks.all()]))),
  };
}

/** @param entriesOf for each text, its entries in ascending order; texts without entries are left out */
export function makePostings(entriesOf: ReadonlyMap<string, ArrayLike<number>>): Postings {
  const texts = [...entriesOf]
    .filter(([, entries]) => entries.length > 0)
    .sort(([a], [b]) => compareUnits(a, b));
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
