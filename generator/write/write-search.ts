/**
 * Writes the search index, in which the proxy finds the games for `/search`: the ranks of the games for
 * each word, filter value and year. Also writes the same words as an index that MiniSearch can load.
 */
import { encodeColumns } from '../../format/index/columns.ts';
import {
  type FilterIndex,
  filterColumns,
  type Postings,
  wordColumns,
} from '../../format/index/search-index.ts';
import { foldCase } from '../../format/index/words.ts';
import { FILTER_INDEX, MINISEARCH, WORD_INDEX } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import {
  type AlternativeTitles,
  type Covers,
  type Games,
  NO_YEAR,
  type Platform,
} from '../columns/catalogue.ts';
import { openTexts } from '../columns/texts.ts';
import { type Numbering, startsOf } from '../order/numbering.ts';
import type { RelatedGames, ReusedGames } from '../reuse/reuse.ts';
import { encodeMiniSearch } from '../search/minisearch.ts';
import { makePostings, type PostingsBuilder } from '../search/postings.ts';
import { indexReadings } from '../search/readings.ts';
import { freeMemory } from '../worker/free-memory.ts';
import { writeWhole } from './file-writer.ts';
import { linkAll } from './link-pack.ts';

/** The games of an earlier generation that had the same alternative titles. */
export interface EarlierSearch {
  readonly games: ReusedGames;
  /** Whether no other value by which a search can be filtered has changed. */
  readonly haveSameFilters: boolean;
}

export async function writeSearch(
  dir: string,
  platforms: readonly Platform[],
  games: Games,
  alternativeTitles: AlternativeTitles,
  covers: Covers,
  numbering: Numbering,
  earlier?: EarlierSearch,
): Promise<ManifestFile[]> {
  const { rowOfRank } = numbering;
  const link = (...names: string[]) =>
    earlier?.games.haveSameNumbers
      ? linkAll(earlier.games.earlier.dir, earlier.games.earlier.files, dir, names)
      : undefined;
  const all = earlier?.haveSameFilters && link(FILTER_INDEX, WORD_INDEX, MINISEARCH);
  if (all) return all;
  const written = await writeFilters(dir, games, covers, numbering);
  const words = link(WORD_INDEX, MINISEARCH);
  if (words !== undefined) return [written, ...words];
  freeMemory();
  const slugAt = openTexts(games.slugs, 'latin1');
  const pathOf = (rank: number) => {
    const row = rowOfRank[rank];
    return `${platforms[games.platform[row]]?.slug}/${slugAt(row)}`;
  };
  const index = await writeWords(dir, games, alternativeTitles, rowOfRank, earlier?.games);
  freeMemory();
  const miniSearch = encodeMiniSearch(index.words, index.frequencies, index.wordCounts, pathOf);
  return [written, index.file, await writeWhole(dir, MINISEARCH, miniSearch)];
}

function writeFilters(
  dir: string,
  games: Games,
  covers: Covers,
  numbering: Numbering,
): Promise<ManifestFile> {
  const { rowOfRank } = numbering;
  const filters: FilterIndex = {
    regions: coverPostings(numbering, covers.regions, covers.region),
    types: coverPostings(numbering, covers.types, covers.type),
    genres: genrePostings(games, rowOfRank),
    ...orderByYear(games, rowOfRank),
  };
  return writeWhole(dir, FILTER_INDEX, encodeColumns(filterColumns(filters)));
}

/** @returns the file, and what `search.json` needs; so the rest is not in memory any more */
async function writeWords(
  dir: string,
  games: Games,
  alternativeTitles: AlternativeTitles,
  rowOfRank: Uint32Array,
  earlier: RelatedGames | undefined,
) {
  const readings = indexReadings(games, alternativeTitles, rowOfRank, earlier);
  const { columns, frequencies, wordCounts } = readings;
  const file = await writeWhole(dir, WORD_INDEX, encodeColumns(wordColumns(columns)));
  return { file, words: columns.words, frequencies, wordCounts };
}

function genrePostings(games: Games, rowOfRank: Uint32Array): Postings {
  const builder = makePostings();
  const numberOf = numberFolded(games.genres, builder);
  for (const row of rowOfRank) {
    const genre = games.genresOf[row];
    if (games.genres[genre] !== null) builder.add(numberOf(genre));
    builder.endEntry();
  }
  return builder.build();
}

/** @returns a function that returns the number of a value in lower case; each value is folded only once */
function numberFolded(
  values: readonly (string | null)[],
  builder: PostingsBuilder,
): (index: number) => number {
  const numbers: number[] = [];
  return (index) => {
    numbers[index] ??= builder.numberOf(foldCase(values[index] ?? ''));
    return numbers[index];
  };
}

/** For each value of a column of covers, the ranks of the games that have a published cover with it. */
function coverPostings(
  { rowOfRank, numberOfGame, firstCover, rowOfCover }: Numbering,
  values: readonly (string | null)[],
  column: Uint32Array,
): Postings {
  const builder = makePostings();
  const numberOf = numberFolded(values, builder);
  for (const row of rowOfRank) {
    const game = numberOfGame[row];
    for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
      const value = column[rowOfCover[cover]];
      if (values[value] !== null) builder.add(numberOf(value));
    }
    builder.endEntry();
  }
  return builder.build();
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
