/**
 * Writes what `/search` is answered from: the postings of words, filters and years by rank, and
 * the same words as an index that MiniSearch loads.
 */
import { encodeColumns } from '../../format/index/columns.ts';
import { type Postings, searchColumns } from '../../format/index/search-index.ts';
import {
  type AsciiWords,
  foldCase,
  isJoinedScript,
  LONGEST_QUERY,
  readAsciiWords,
  wordsOf,
} from '../../format/index/words.ts';
import { MINISEARCH, SEARCH_INDEX } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { openTexts } from '../columns/row-columns.ts';
import { makeTextNumbers, type TextNumbers } from '../columns/string-table.ts';
import { type Numbering, startsOf } from '../order/numbering.ts';
import { type Covers, type Games, NO_YEAR, type Platform } from '../read/read-catalogue.ts';
import { writeWhole } from './file-writer.ts';
import { encodeMiniSearch } from './minisearch.ts';

export async function writeSearch(
  dir: string,
  platforms: readonly Platform[],
  games: Games,
  covers: Covers,
  numbering: Numbering,
): Promise<ManifestFile[]> {
  const titleAt = openTexts(games.titles);
  const { chunks, columns: titles } = games.titles;
  const ascii: AsciiWords = { bytes: new Uint8Array(256), end: [] };
  const slugAt = openTexts(games.slugs, 'latin1');
  const { placeOfRank } = numbering;
  const ranks = placeOfRank.length;
  const words = postingsBuilder();
  const endings = postingsBuilder();
  const genres = postingsBuilder();
  const genreNumber = foldedNumbers(genres, games.genres);
  // As MiniSearch counts: the number of different words of each title.
  const wordCounts = new Uint16Array(ranks);
  for (let rank = 0; rank < ranks; rank++) {
    const place = placeOfRank[rank];
    let different = 0;
    const title = chunks[titles.chunkOf[place]];
    const from = titles.start[place];
    const count = readAsciiWords(title, from, from + titles.length[place], ascii);
    let start = 0;
    for (let word = 0; word < count; word++) {
      const end = ascii.end[word];
      if (words.add(words.numbers.numberOfBytes(ascii.bytes, start, end), rank)) different++;
      start = end;
    }
    if (count < 0) {
      for (const word of wordsOf(titleAt(place))) {
        if (!words.add(words.numbers.numberOf(word), rank)) continue;
        different++;
        if (isJoinedScript(word)) addEndings(word, rank, endings);
      }
    }
    wordCounts[rank] = different;
    const genre = games.genresOf[place];
    if (games.genres[genre] !== null) genres.add(genreNumber(genre), rank);
  }
  const { years, yearOfRank, ranksByYear, yearStart } = orderByYear(games, placeOfRank);
  const builtWords = words.build();
  const pathOf = (rank: number) => {
    const place = placeOfRank[rank];
    return `${platforms[games.platform[place]]?.slug}/${slugAt(place)}`;
  };
  const columns = searchColumns({
    games: ranks,
    words: builtWords.postings,
    endings: endings.build().postings,
    regions: coverPostings(numbering, covers.regions, covers.region),
    types: coverPostings(numbering, covers.types, covers.type),
    genres: genres.build().postings,
    years,
    yearOfRank,
    ranksByYear,
    yearStart,
  });
  return [
    await writeWhole(dir, SEARCH_INDEX, encodeColumns(columns)),
    await writeWhole(
      dir,
      MINISEARCH,
      encodeMiniSearch(builtWords.postings, builtWords.frequencies, wordCounts, pathOf),
    ),
  ];
}

function addEndings(word: string, rank: number, endings: PostingsBuilder): void {
  const characters = [...word];
  for (let from = 0; from + 1 < characters.length; from++) {
    const ending = characters.slice(from, from + LONGEST_QUERY).join('');
    endings.add(endings.numbers.numberOf(ending), rank);
  }
}

interface PostingsBuilder {
  /** Numbers the texts, each of which will have a rank at least. */
  readonly numbers: TextNumbers;
  /**
   * Ranks come ascending for each text, which is given by its number. A repeated rank of the same
   * text is one, and counted.
   * @returns whether it was new
   */
  add(text: number, rank: number): boolean;
  build(): { postings: Postings; frequencies: Uint8Array };
}

const MOST_FREQUENT = 255;

/** Gathers (text, rank) pairs and sorts them by text in two linear passes. */
function postingsBuilder(): PostingsBuilder {
  const numbers = makeTextNumbers();
  // By text: its last pair.
  const lastPair: number[] = [];
  let textOf = new Uint32Array(1024);
  let rankOf = new Uint32Array(1024);
  let pairs = 0;
  // Nearly always 1: only the others are kept, by pair.
  const frequent = new Map<number, number>();
  return {
    numbers,
    add(number, rank) {
      const last = lastPair[number];
      if (last !== undefined && rankOf[last] === rank) {
        frequent.set(last, Math.min((frequent.get(last) ?? 1) + 1, MOST_FREQUENT));
        return false;
      }
      if (pairs === textOf.length) {
        textOf = doubled(textOf);
        rankOf = doubled(rankOf);
      }
      textOf[pairs] = number;
      rankOf[pairs] = rank;
      lastPair[number] = pairs++;
      return true;
    },
    build() {
      const texts = numbers.texts();
      const inOrder = [...texts.keys()].sort((a, b) => (texts[a] < texts[b] ? -1 : 1));
      const orderOf = new Uint32Array(texts.length);
      inOrder.forEach((number, order) => {
        orderOf[number] = order;
      });
      const orders = textOf.subarray(0, pairs).map((number) => orderOf[number]);
      const ranksStart = startsOf(orders, texts.length);
      const next = ranksStart.slice();
      const ranks = new Uint32Array(pairs);
      const frequencies = new Uint8Array(pairs).fill(1);
      for (let pair = 0; pair < pairs; pair++) {
        const order = orders[pair];
        const at = next[order];
        next[order] = at + 1;
        ranks[at] = rankOf[pair];
        const frequency = frequent.get(pair);
        if (frequency !== undefined) frequencies[at] = frequency;
      }
      const ordered = inOrder.map((number) => texts[number]);
      return { postings: { ...encodeTexts(ordered), ranks, ranksStart }, frequencies };
    },
  };
}

function doubled(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}

function encodeTexts(texts: readonly string[]): Pick<Postings, 'text' | 'textStart'> {
  const textStart = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => {
    textStart[i + 1] = textStart[i] + text.length;
  });
  const text = new Uint16Array(textStart[texts.length]);
  texts.forEach((value, i) => {
    const start = textStart[i];
    for (let at = 0; at < value.length; at++) text[start + at] = value.charCodeAt(at);
  });
  return { text, textStart };
}

/** @returns what gives a folded value's number in the postings; each is folded when it is first met */
function foldedNumbers({ numbers }: PostingsBuilder, values: readonly (string | null)[]) {
  const known: number[] = [];
  return (value: number): number => {
    known[value] ??= numbers.numberOf(foldCase(values[value] as string));
    return known[value];
  };
}

/** The games that have an approved cover with each value of a column. */
function coverPostings(
  { placeOfRank, numberOfGame, firstCover, placeOfCover }: Numbering,
  values: readonly (string | null)[],
  column: Uint32Array,
): Postings {
  const builder = postingsBuilder();
  const numberOf = foldedNumbers(builder, values);
  for (let rank = 0; rank < placeOfRank.length; rank++) {
    const game = numberOfGame[placeOfRank[rank]];
    for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
      const value = column[placeOfCover[cover]];
      if (values[value] !== null) builder.add(numberOf(value), rank);
    }
  }
  return builder.build().postings;
}

function orderByYear({ year: yearOf }: Games, placeOfRank: Uint32Array) {
  const yearAt = (place: number) => yearOf[place];
  const known = new Set<number>();
  for (const place of placeOfRank) if (yearAt(place) !== NO_YEAR) known.add(yearAt(place));
  const years = Int32Array.from(known).sort();
  const indexOf = new Map([...years].map((year, i) => [year, i]));
  const yearOfRank = new Uint16Array(placeOfRank.length);
  placeOfRank.forEach((place, rank) => {
    yearOfRank[rank] = indexOf.get(yearAt(place)) ?? years.length;
  });
  const yearStart = startsOf(Uint32Array.from(yearOfRank), years.length + 1);
  const next = yearStart.slice();
  const ranksByYear = new Uint32Array(placeOfRank.length);
  yearOfRank.forEach((year, rank) => {
    const at = next[year];
    next[year] = at + 1;
    ranksByYear[at] = rank;
  });
  return { years, yearOfRank, ranksByYear, yearStart };
}
