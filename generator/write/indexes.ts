/**
 * Makes the columns of the indexes that find the records: `index/games.bin`, `index/paths.bin`,
 * `index/covers.bin`; `index/titles.bin` with alternative titles; and `index/filters.bin` with the ranks of the
 * games for each value by which a search can be filtered.
 */

import type { FilterIndex } from '../../find/search/open.ts';
import {
  type FilterOf,
  filterNamesOf,
  filterRow,
  forEachFilter,
} from '../../find/search/value-filters.ts';
import { makeFilters } from '../../find/search/write-filters.ts';
import { foldCase } from '../../find/text/words.ts';
import { type Column, groupsOf, numbersOf, through } from '../../lib/columns/columns.ts';
import { next, numberAt, type Rank } from '../../lib/columns/numbers.ts';
import { findText, startsOfLists } from '../../lib/columns/postings.ts';
import { type IdColumns, textOfId } from '../../lib/format/index/ids.ts';
import { hashSlug, NO_VALUE } from '../../lib/format/index/record-index.ts';
import type { TitleColumns } from '../../lib/format/index/titles.ts';
import type { CoverItem, GameItem, Values } from '../rows/catalogue.ts';
import { type Ids, idOf } from '../rows/ids.ts';
import { compareUnits } from '../rows/values.ts';
import type { PackedCatalogue } from './packs.ts';

export function gameColumns({ positions, numbering }: PackedCatalogue) {
  const { byteOffset: offset, byteLength: length, hash } = positions.games;
  return { offset, length, hash, firstCover: numbering.firstCoverOfGame };
}

export function pathColumns({ games, numbering }: PackedCatalogue) {
  const { itemOfGame, gameOfRank, rankOfGame, numberOfGame, firstGame } = numbering;
  const slugs = Array.from(itemOfGame, games.slug);
  const slugStart = startsOfLists(slugs);
  const slugText = new Uint8Array(slugStart[slugs.length]);
  Buffer.from(slugText.buffer).write(slugs.join(''), 'latin1');
  const hashes = slugs.map(hashSlug);
  const bySlug = Uint32Array.from(slugs.keys());
  const compare = (a: number, b: number) =>
    hashes[a] - hashes[b] || compareUnits(slugs[a], slugs[b]);
  firstGame.forEach((first, platform) => {
    bySlug.subarray(first, firstGame[next(platform)]).sort(compare);
  });
  return {
    rank: rankOfGame,
    gameOfRank,
    slugStart,
    slugText,
    bySlug,
    slugHash: Uint32Array.from(bySlug, (game) => hashes[game]),
    ...idColumns(games, numberOfGame),
  };
}

export function titleColumns({ games, numbering, titles }: PackedCatalogue): TitleColumns {
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

export function coverColumns(catalogue: PackedCatalogue, filters: FilterIndex) {
  const { covers, numbering, positions } = catalogue;
  const { numberOfCover, firstCoverOfGame } = numbering;
  const { byteOffset: offset, byteLength: length, hash } = positions.covers;
  const ids = idColumns(covers, numberOfCover);
  return {
    offset,
    length,
    hash,
    ...ids,
    region: valueColumn(catalogue, 'region', filters),
    type: valueColumn(catalogue, 'type', filters),
    orderOfId: orderOfIdColumn(ids, firstCoverOfGame),
  };
}

/** The columns that find a record by its id. */
function idColumns<Item extends number>(
  { byId, ids }: { readonly byId: Column<number, Item>; readonly ids: Ids<Item> },
  numberOf: Column<Item, number>,
): IdColumns {
  const pick = (column: Column<Item, number>) => numbersOf(through(byId, column));
  return {
    idHigh: hasLargeIds(byId, ids) ? pick(ids.high) : new Uint32Array(0),
    idLow: pick(ids.low),
    numberOfId: pick(numberOf),
  };
}

function hasLargeIds<Item extends number>(
  byId: Column<number, Item>,
  { high }: Ids<Item>,
): boolean {
  for (let position = 0; position < byId.length; position++)
    if (high[byId[position]] !== 0) return true;
  return false;
}

/** For each cover, the index of its value in the list of the filter. */
function valueColumn(
  { numbering, covers }: PackedCatalogue,
  name: FilterOf<'cover'>,
  filters: FilterIndex,
): Uint16Array {
  const { texts, column } = covers.values[name];
  const [items, values] = [numbersOf(numbering.itemOfCover), numbersOf(column)];
  const list = filters[filterRow(name).list];
  const indexes = texts.map((text) => (text === null ? NO_VALUE : findText(list, foldCase(text))));
  const found = new Uint16Array(items.length);
  for (let cover = 0; cover < items.length; cover++)
    found[cover] = Math.min(indexes[values[items[cover]]], NO_VALUE);
  return found;
}

/** For each cover, its index among those of its game in the order of their ids. */
function orderOfIdColumn(
  { numberOfId }: IdColumns,
  firstCoverOfGame: PackedCatalogue['numbering']['firstCoverOfGame'],
): Uint16Array {
  const gameOf = numbersOf(groupsOf(firstCoverOfGame));
  const following = new Uint32Array(firstCoverOfGame.length);
  const orderOfId = new Uint16Array(numberOfId.length);
  for (let position = 0; position < numberOfId.length; position++) {
    const cover = numberOfId[position];
    orderOfId[cover] = Math.min(following[gameOf[cover]]++, 0xffff);
  }
  return orderOfId;
}

export function filterColumns({ games, covers, numbering }: PackedCatalogue): FilterIndex {
  const { itemOfRank, gameOfRank, firstCoverOfGame, itemOfCover } = numbering;
  type Add = (rank: number, value: number) => void;
  const ofGame = ({ texts, column }: Values<GameItem>) => ({
    texts,
    forEach(add: Add) {
      for (let rank = numberAt<Rank>(0); rank < itemOfRank.length; rank++)
        add(rank, column[itemOfRank[rank]]);
    },
  });
  const ofCovers = ({ texts, column }: Values<CoverItem>) => ({
    texts,
    forEach(add: Add) {
      for (let rank = numberAt<Rank>(0); rank < gameOfRank.length; rank++) {
        const game = gameOfRank[rank];
        for (let cover = firstCoverOfGame[game]; cover < firstCoverOfGame[next(game)]; cover++)
          add(rank, column[itemOfCover[cover]]);
      }
    },
  });
  return makeFilters({
    years: new Int32Array(numbersOf(through(itemOfRank, games.year))),
    values: {
      ...forEachFilter((name) => ofGame(games.values[name]), filterNamesOf('game')),
      ...forEachFilter((name) => ofCovers(covers.values[name]), filterNamesOf('cover')),
    },
  });
}
