/**
 * Writes the words of all titles: `index/words.bin`, in which the proxy finds games, and the same words as
 * `search.json`, which MiniSearch can load with `search-options.json`.
 */

import { compareSlices } from '../../lib/format/index/arrays.ts';
import { encodeColumns } from '../../lib/format/index/columns.ts';
import { equals } from '../../lib/format/index/readings.ts';
import type { Postings, ReadingWords, WordIndex } from '../../lib/format/index/search-index.ts';
import {
  entriesAt,
  LONGEST_ENDING,
  textAt,
  textCount,
} from '../../lib/format/index/search-index.ts';
import { isScriptWithoutSpaces } from '../../lib/format/index/words.ts';
import { MINISEARCH, WORD_INDEX } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import type { Readings } from '../reuse/stored-generation.ts';
import { columnOf, group, groupsOf, NumberList, numbersOf } from '../rows/columns.ts';
import { getOrAdd } from '../rows/get-or-add.ts';
import { at, type Rank } from '../rows/numbers.ts';
import type { Output } from './file-writer.ts';
import { encodeTexts, makePostings } from './indexes.ts';
import { encodeMiniSearch } from './minisearch.ts';
import type { WriteSource } from './packs.ts';

/** Collects the words of games, which are added in title order. */
export function makeWords(output: Output, source: WriteSource) {
  const { platforms, games, stored } = source;
  const { itemOfRank } = source.numbering;
  const table = makeTextTable();
  let storedReadings: ((game: number) => Readings) | undefined;
  const words = new NumberList();
  const start = new NumberList();
  let end = 0;
  start.add(end);
  const further: (readonly number[])[] = [];
  const rankOfFurther: Rank[] = [];
  const slugReadings: number[] = [];
  const addReading = (reading: readonly number[]) => {
    for (const word of reading) words.add(word);
    end += reading.length;
    start.add(end);
  };
  const addGame = (
    rank: Rank,
    [first = [], ...others]: readonly (readonly number[])[],
    endsWithSlug: boolean,
  ) => {
    addReading(first);
    for (const reading of others) {
      further.push(reading);
      rankOfFurther.push(rank);
    }
    if (endsWithSlug) slugReadings.push(itemOfRank.length + further.length - 1);
  };
  return {
    /** Adds the stored words of a game. @param number of the stored game */
    copy(rank: Rank, number: number): void {
      storedReadings ??= stored?.readings(table.numberOf);
      const found = storedReadings?.(number);
      if (found !== undefined) addGame(rank, found.readings, found.endsWithSlug);
    },
    /**
     * @param readings of the title and the alternative titles
     * @param ofSlug the words of the slug, if the game is found by them, too
     */
    add(rank: Rank, readings: readonly string[][], ofSlug: string[] | undefined): void {
      // No reading but the first is empty, and no two are equal.
      const [first = [], ...others] = readings;
      const distinct = [first];
      const addNew = (reading: string[]): boolean => {
        const isNew = reading.length > 0 && !distinct.some((known) => equals(known, reading));
        if (isNew) distinct.push(reading);
        return isNew;
      };
      others.forEach(addNew);
      const endsWithSlug = ofSlug !== undefined && addNew(ofSlug);
      addGame(
        rank,
        distinct.map((reading) => reading.map(table.numberOf)),
        endsWithSlug,
      );
    },
    async write(): Promise<ManifestFile[]> {
      for (const reading of further) addReading(reading);
      const { orderOf, sorted } = table.inOrder();
      const all: ReadingWords = { words: words.all(), start: start.all() };
      for (let at = 0; at < end; at++) all.words[at] = orderOf[all.words[at]];
      const { postings, frequencies, distinct } = invert(sorted, all);
      const index: WordIndex = {
        words: postings,
        endings: indexEndings(postings),
        readings: all,
        rankOfFurther: Uint32Array.from(rankOfFurther),
        slugReadings: Uint32Array.from(slugReadings),
        readingsByWords: sortReadings(all),
      };
      const pathOf = (rank: number) => {
        const game = itemOfRank[at<Rank>(rank)];
        return `${platforms[games.platform[game]].slug}/${games.slug(game)}`;
      };
      const ofTitles = distinct.subarray(0, itemOfRank.length);
      return [
        await output.write(WORD_INDEX, encodeColumns(index)),
        await output.write(MINISEARCH, encodeMiniSearch(postings, frequencies, ofTitles, pathOf)),
      ];
    },
  };
}

/** Numbers words in the order in which they first appear. */
function makeTextTable() {
  const numbers = new Map<string, number>();
  return {
    numberOf(text: string): number {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      numbers.set(text, numbers.size);
      return numbers.size - 1;
    },
    /** The words in the order of their code units, and for each number its place in that order. */
    inOrder() {
      const texts = [...numbers.keys()].sort();
      const orderOf = new Uint32Array(texts.length);
      texts.forEach((text, order) => {
        orderOf[numbers.get(text) ?? 0] = order;
      });
      return { sorted: encodeTexts(texts), orderOf };
    },
  };
}

/** How often a reading has a word is counted up to this. */
const MOST_COUNTED = 255;

/**
 * Makes postings: for each word, the readings that have it. Parallel to their entries: `frequencies`, how often
 * the reading has the word. `distinct`: how many words each reading has.
 */
function invert(sorted: Pick<Postings, 'text' | 'textStart'>, { words, start }: ReadingWords) {
  const readingOf = numbersOf(groupsOf(columnOf(start)));
  const ofWords = group<number, number, number>(columnOf(words), textCount(sorted));
  const [entries, entriesStart] = [new NumberList(), new NumberList()];
  const frequencies = new Uint8Array(words.length);
  const distinct = new Uint16Array(start.length - 1);
  let count = 0;
  for (let word = 0; word < textCount(sorted); word++) {
    entriesStart.add(count);
    for (let at = ofWords.start[word]; at < ofWords.start[word + 1]; at++) {
      const reading = readingOf[ofWords.members[at]];
      // A reading can have a word several times.
      if (at === ofWords.start[word] || entries.last() !== reading) {
        entries.add(reading);
        distinct[reading]++;
        count++;
      }
      frequencies[count - 1] = Math.min(frequencies[count - 1] + 1, MOST_COUNTED);
    }
  }
  entriesStart.add(count);
  const postings = { ...sorted, entries: entries.all(), entriesStart: entriesStart.all() };
  return { postings, frequencies, distinct };
}

/** The endings of the words in scripts without spaces, each with the readings that have it. */
function indexEndings(words: Postings): Postings {
  const readingsOfEnding = new Map<string, Set<number>>();
  for (let word = 0; word < textCount(words); word++) {
    const text = textAt(words, word);
    if (!isScriptWithoutSpaces(text)) continue;
    const characters = [...text];
    // Every suffix that has at least two characters, cut to the longest ending.
    for (let from = 0; from + 1 < characters.length; from++) {
      const ending = characters.slice(from, from + LONGEST_ENDING).join('');
      const readings = getOrAdd(readingsOfEnding, ending, () => new Set<number>());
      for (const reading of entriesAt(words, word)) readings.add(reading);
    }
  }
  return makePostings(
    new Map(
      Array.from(readingsOfEnding, ([ending, readings]) => [
        ending,
        [...readings].sort((a, b) => a - b),
      ]),
    ),
  );
}

/** The numbers of all readings, ordered by their words. */
function sortReadings({ words, start }: ReadingWords): Uint32Array {
  const order = Uint32Array.from({ length: start.length - 1 }, (_, reading) => reading);
  return order.sort((a, b) => compareSlices(words, start, a, b) || a - b);
}
