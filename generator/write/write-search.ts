/**
 * Writes the search index, in which the proxy finds the games for `/search`: the ranks of the games for
 * each word, filter value and year. Also writes the same words as an index that MiniSearch can load.
 */
import { encodeColumns } from '../../format/index/columns.ts';
import {
  openSearchIndex,
  type Postings,
  type SearchIndex,
  searchColumns,
} from '../../format/index/search-index.ts';
import { foldCase } from '../../format/index/words.ts';
import { MINISEARCH, SEARCH_INDEX } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { readChecked } from '../../store/files/checked-files.ts';
import {
  type AlternativeTitles,
  type Covers,
  type Games,
  NO_YEAR,
  type Platform,
} from '../columns/catalogue.ts';
import { openTexts } from '../columns/texts.ts';
import { type Numbering, startsOf } from '../order/numbering.ts';
import { writeWhole } from './file-writer.ts';
import { linkFile } from './link-pack.ts';
import { encodeMiniSearch } from './minisearch.ts';
import { makePostings } from './postings.ts';
import { type IndexedReadings, indexReadings } from './readings.ts';

/** The search index of an earlier generation whose games have the same paths and titles, in the same order. */
export interface EarlierWords {
  /** The folder of the generation. */
  readonly dir: string;
  readonly files: readonly ManifestFile[];
}

/** @param earlier undefined if the words of the titles must be indexed */
export async function writeSearch(
  dir: string,
  platforms: readonly Platform[],
  games: Games,
  alternativeTitles: AlternativeTitles,
  covers: Covers,
  numbering: Numbering,
  earlier?: EarlierWords,
): Promise<ManifestFile[]> {
  const { rowOfRank } = numbering;
  const filters = {
    games: rowOfRank.length,
    regions: coverPostings(numbering, covers.regions, covers.region),
    types: coverPostings(numbering, covers.types, covers.type),
    genres: genrePostings(games, rowOfRank),
    ...orderByYear(games, rowOfRank),
  };
  const linked = earlier && linkSearch(earlier, dir, filters);
  if (linked !== undefined) return linked;
  const slugAt = openTexts(games.slugs, 'latin1');
  const readings = indexReadings(games, alternativeTitles, rowOfRank);
  const pathOf = (rank: number) => {
    const row = rowOfRank[rank];
    return `${platforms[games.platform[row]]?.slug}/${slugAt(row)}`;
  };
  const columns = searchColumns({ ...readings.columns, ...filters });
  const {
    columns: { words },
    frequencies,
    wordCounts,
  } = readings;
  return [
    await writeWhole(dir, SEARCH_INDEX, encodeColumns(columns)),
    await writeWhole(dir, MINISEARCH, encodeMiniSearch(words, frequencies, wordCounts, pathOf)),
  ];
}

/**
 * Writes the search index with the words of an earlier one, and links the file for MiniSearch, which has
 * nothing but words.
 */
function linkSearch(
  { dir: earlierDir, files }: EarlierWords,
  dir: string,
  filters: Omit<SearchIndex, keyof IndexedReadings['columns']>,
): Promise<ManifestFile[]> | undefined {
  const [search, miniSearch] = [SEARCH_INDEX, MINISEARCH].map((name) =>
    files.find((file) => file.path === name),
  );
  if (search === undefined || miniSearch === undefined) return undefined;
  if (!linkFile(earlierDir, dir, MINISEARCH)) return undefined;
  const words = openSearchIndex(readChecked(earlierDir, search));
  const written = writeWhole(
    dir,
    SEARCH_INDEX,
    encodeColumns(searchColumns({ ...words, ...filters })),
  );
  return written.then((file) => [file, miniSearch]);
}

function genrePostings(games: Games, rowOfRank: Uint32Array): Postings {
  const builder = makePostings();
  const genreOf = foldedValues(games.genres);
  rowOfRank.forEach((row, rank) => {
    const genre = games.genresOf[row];
    if (games.genres[genre] !== null) builder.add(builder.numberOf(genreOf(genre)), rank);
  });
  return builder.build().postings;
}

/** @returns a function that returns the case-folded value at an index; each value is folded only once */
function foldedValues(values: readonly (string | null)[]): (index: number) => string {
  const folded: string[] = [];
  return (index) => {
    folded[index] ??= foldCase(values[index] ?? '');
    return folded[index];
  };
}

/** For each value of a column of covers, the ranks of the games that have a published cover with it. */
function coverPostings(
  { rowOfRank, numberOfGame, firstCover, rowOfCover }: Numbering,
  values: readonly (string | null)[],
  column: Uint32Array,
): Postings {
  const builder = makePostings();
  const textOf = foldedValues(values);
  for (let rank = 0; rank < rowOfRank.length; rank++) {
    const game = numberOfGame[rowOfRank[rank]];
    for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
      const value = column[rowOfCover[cover]];
      if (values[value] !== null) builder.add(builder.numberOf(textOf(value)), rank);
    }
  }
  return builder.build().postings;
}

function orderByYear({ year: yearOf }: Games, rowOfRank: Uint32Array) {
  const known = new Set<number>();
  for (const row of rowOfRank) if (yearOf[row] !== NO_YEAR) known.add(yearOf[row]);
  const years = Int32Array.from(known).sort();
  const indexOf = new Map([...years].map((year, i) => [year, i]));
  const yearOfRank = new Uint16Array(rowOfRank.length);
  rowOfRank.forEach((row, rank) => {
    yearOfRank[rank] = indexOf.get(yearOf[row]) ?? years.length;
  });
  const yearStart = startsOf(Uint32Array.from(yearOfRank), years.length + 1);
  const next = yearStart.slice();
  const ranksByYear = new Uint32Array(rowOfRank.length);
  yearOfRank.forEach((year, rank) => {
    ranksByYear[next[year]++] = rank;
  });
  return { years, yearOfRank, ranksByYear, yearStart };
}
