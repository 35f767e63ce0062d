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
  /** Hands the index of each value that a game has to a function. */
  forEach(rank: number, use: (value: number) => void): void;
}

export function makeFilters({ years: yearAt, values }: FilteredGames): FilterIndex {
  const lists = VALUE_FILTER_NAMES.map((name) => [
    filterRow(name).list,
    collect(values[name], yearAt.length),
  ]);
  const years = Int32Array.from(new Set(yearAt))
    .filter((year) => year !== NO_YEAR)
    .sort();
  const indexOfYear = new Map(Array.from(years, (year, index) => [year, index]));
  return {
    ...(Object.fromEntries(lists) as Record<FilterList, Postings>),
    years,
    yearOfRank: Uint16Array.from(yearAt, (year) => indexOfYear.get(year) ?? years.length),
  };
}

/** Collects the ranks of games by their values, without regard to case. */
function collect({ texts, forEach }: GameValues, games: number): Postings {
  const byText = new Map<string, GrowingList>();
  const listOf = texts.map((text) =>
    text === null ? undefined : getOrAdd(byText, foldCase(text), () => new GrowingList(16)),
  );
  let rank = 0;
  const add = (value: number) => {
    const list = listOf[value];
    // A game can have the same value several times.
    if (list?.last() !== rank) list?.add(rank);
  };
  for (; rank < games; rank++) forEach(rank, add);
  return makePostings(new Map(Array.from(byText, ([text, ranks]) => [text, ranks.all()])));
}
