/**
 * Writes what `/search` is answered from: the postings of words, filters and years by rank, and
 * the same words as an index that MiniSearch loads.
 */
import { encodeColumns } from '../format/columns.ts';
import { MINISEARCH, SEARCH_INDEX } from '../format/layout.ts';
import type { ManifestFile } from '../format/manifest.ts';
import { type Postings, searchColumns } from '../format/search-index.ts';
import { foldCase, isJoinedScript, LONGEST_QUERY, wordsOf } from '../format/words.ts';
import { writeWhole } from './file-writer.ts';
import { type Growable, growable, type Interned } from './growable.ts';
import { encodeMiniSearch } from './minisearch.ts';
import { type Numbering, startsOf } from './numbering.ts';
import type { Covers, SourceCatalogue } from './read-catalogue.ts';

export function writeSearch(
  dir: string,
  source: SourceCatalogue,
  numbering: Numbering,
): ManifestFile[] {
  const { platforms, games } = source;
  const { placeOfRank } = numbering;
  const count = placeOfRank.length;
  const words = postingsBuilder();
  const endings = postingsBuilder();
  const genres = postingsBuilder();
  // As MiniSearch counts: the number of different words of each title.
  const wordCounts = new Uint16Array(count);
  const frequencies = new Map<string, number>();
  for (let rank = 0; rank < count; rank++) {
    const place = placeOfRank[rank] as number;
    frequencies.clear();
    for (const word of wordsOf(games.titles[place] as string)) {
      frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
    }
    wordCounts[rank] = frequencies.size;
    for (const [word, frequency] of frequencies) {
      words.add(word, rank, frequency);
      if (isJoinedScript(word)) addEndings(word, rank, endings);
    }
    const genre = games.genres.values[games.genresOf.at(place)] ?? null;
    if (genre !== null) genres.add(foldCase(genre), rank);
  }
  const { years, yearOfRank, ranksByYear, yearStart } = orderByYear(source, placeOfRank);
  const builtWords = words.build();
  const pathOf = (rank: number) => {
    const place = placeOfRank[rank] as number;
    return `${platforms[games.platform.at(place)]?.slug}/${games.slugs[place]}`;
  };
  const { covers } = source;
  const columns = searchColumns({
    games: count,
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
    writeWhole(dir, SEARCH_INDEX, encodeColumns(columns)),
    writeWhole(
      dir,
      MINISEARCH,
      encodeMiniSearch(builtWords.postings, builtWords.frequencies, wordCounts, pathOf),
    ),
  ];
}

function addEndings(word: string, rank: number, endings: PostingsBuilder): void {
  const characters = [...word];
  const seen = new Set<string>();
  for (let from = 0; from + 1 < characters.length; from++) {
    const ending = characters.slice(from, from + LONGEST_QUERY).join('');
    if (!seen.has(ending)) endings.add(ending, rank);
    seen.add(ending);
  }
}

interface PostingsBuilder {
  /** Ranks come ascending for each text. A repeated rank of the same text is one. */
  add(text: string, rank: number, frequency?: number): void;
  build(): { postings: Postings; frequencies: Uint8Array };
}

const MOST_FREQUENT = 255;

/** Gathers (text, rank) pairs and sorts them by text in two linear passes. */
function postingsBuilder(): PostingsBuilder {
  const numbers = new Map<string, number>();
  const lastRank = growable(Int32Array);
  const textOf = growable(Uint32Array);
  const rankOf = growable(Uint32Array);
  // Nearly always 1: only the others are kept, by pair.
  const frequent = new Map<number, number>();
  return {
    add(text, rank, frequency = 1) {
      let number = numbers.get(text);
      if (number === undefined) {
        number = numbers.size;
        numbers.set(text, number);
        lastRank.push(-1);
      }
      if (lastRank.at(number) === rank) return;
      lastRank.set(number, rank);
      if (frequency > 1) frequent.set(textOf.length, Math.min(frequency, MOST_FREQUENT));
      textOf.push(number);
      rankOf.push(rank);
    },
    build() {
      const texts = [...numbers.keys()].sort();
      const orderOf = new Uint32Array(texts.length);
      texts.forEach((text, order) => {
        orderOf[numbers.get(text) as number] = order;
      });
      const orders = textOf.values().map((number) => orderOf[number] as number);
      const ranksStart = startsOf(orders, texts.length);
      const next = ranksStart.slice();
      const ranks = new Uint32Array(orders.length);
      const frequencies = new Uint8Array(orders.length).fill(1);
      for (let pair = 0; pair < orders.length; pair++) {
        const order = orders[pair] as number;
        const at = next[order] as number;
        next[order] = at + 1;
        ranks[at] = rankOf.at(pair);
        const frequency = frequent.get(pair);
        if (frequency !== undefined) frequencies[at] = frequency;
      }
      return { postings: { ...encodeTexts(texts), ranks, ranksStart }, frequencies };
    },
  };
}

function encodeTexts(texts: readonly string[]): Pick<Postings, 'text' | 'textStart'> {
  const textStart = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => {
    textStart[i + 1] = (textStart[i] as number) + text.length;
  });
  const text = new Uint16Array(textStart[texts.length] as number);
  texts.forEach((value, i) => {
    const start = textStart[i] as number;
    for (let at = 0; at < value.length; at++) text[start + at] = value.charCodeAt(at);
  });
  return { text, textStart };
}

/** The games that have an approved cover with each value of a column. */
function coverPostings(
  { placeOfRank, numberOfGame, firstCover, placeOfCover }: Numbering,
  { values }: Interned,
  column: Covers['region'],
): Postings {
  const folded = values.map((value) => (value === null ? null : foldCase(value)));
  const builder = postingsBuilder();
  for (let rank = 0; rank < placeOfRank.length; rank++) {
    const game = numberOfGame[placeOfRank[rank] as number] as number;
    for (
      let cover = firstCover[game] as number;
      cover < (firstCover[game + 1] as number);
      cover++
    ) {
      const value = folded[column.at(placeOfCover[cover] as number)] ?? null;
      if (value !== null) builder.add(value, rank);
    }
  }
  return builder.build().postings;
}

function orderByYear({ games }: SourceCatalogue, placeOfRank: Uint32Array) {
  const yearAt = (place: number) => (games.year as Growable<Float64Array>).at(place);
  const known = new Set<number>();
  for (const place of placeOfRank) if (!Number.isNaN(yearAt(place))) known.add(yearAt(place));
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
    const at = next[year] as number;
    next[year] = at + 1;
    ranksByYear[at] = rank;
  });
  return { years, yearOfRank, ranksByYear, yearStart };
}
