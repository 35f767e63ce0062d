/** Makes the file of filters: for each value by which games can be filtered, the ranks of the games that have it. */
import { GrowingList } from '../../lib/columns/columns.ts';
import { makePostings, type Postings } from '../../lib/columns/postings.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { foldCase } from '../text/words.ts';
import type { FilterIndex } from './open.ts';
import {
  type FilterList,
  filterRow,
  VALUE_FILTER_NAMES,
  type ValueFilter,
} from './value-filters.ts';

/** Stands for a release year that is unknown. */
export const NO_YEAR = -0x8000;

/** The values of the games, by rank. */
export interface FilteredGames {
  /** The release year, or {@link NO_YEAR}. */
  readonly years: Int32Array;
  readonly values: Readonly<Record<ValueFilter, GameValues>>;
}

interface GameValues {
  /** The distinct values, with those that no game has; null for an unknown one. */
  readonly texts: readonly (string | null)[];
  /** Hands the index of each value of each game to a function, in the order of ranks. */
  forEach(add: (rank: number, value: number) => void): void;
}

export function makeFilters({ years: yearAt, values }: FilteredGames): FilterIndex {
  const lists = VALUE_FILTER_NAMES.map((name) => [filterRow(name).list, collect(values[name])]);
  const years = Int32Array.from(new Set(yearAt))
    .filter((year) => year !== NO_YEAR)
    .sort();
  const indexOfYear = new Map(Array.from(years, (year, index) => [year, index]));
  const yearOfRank = new Uint16Array(yearAt.length);
  for (let rank = 0; rank < yearAt.length; rank++)
    yearOfRank[rank] = indexOfYear.get(yearAt[rank]) ?? years.length;
  return {
    ...(Object.fromEntries(lists) as Record<FilterList, Postings>),
    years,
    yearOfRank,
  };
}

/** Collects the ranks of games by their values, without regard to case. */
function collect({ texts, forEach }: GameValues): Postings {
  const byText = new Map<string, GrowingList>();
  const listOf = texts.map((text) =>
    text === null ? undefined : getOrAdd(byText, foldCase(text), () => new GrowingList(16)),
  );
  forEach((rank, value) => {
    const list = listOf[value];
    // A game can have the same value several times.
    if (list?.last() !== rank) list?.add(rank);
  });
  return makePostings(new Map(Array.from(byText, ([text, ranks]) => [text, ranks.all()])));
}
