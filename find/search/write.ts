/**
 * Makes the file of words, in which a search finds games by their titles, and from it an index that MiniSearch can
 * load. What an earlier run wrote is read by this file alone.
 */
import { compareSlices } from '../../lib/columns/arrays.ts';
import { columnOf, GrowingList, group, groupsOf, numbersOf } from '../../lib/columns/columns.ts';
import type { ColumnFile } from '../../lib/columns/container.ts';
import { NONE } from '../../lib/columns/numbers.ts';
import {
  encodeTexts,
  entriesAt,
  makePostings,
  type Postings,
  textAt,
  textCount,
} from '../../lib/columns/postings.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { equals } from '../text/variants.ts';
import { isScriptWithoutSpaces } from '../text/words.ts';
import { encodeMiniSearch } from './minisearch.ts';
import { LONGEST_ENDING, openWords, type VariantWords, type WordIndex } from './open.ts';

export interface WrittenWords {
  readonly columns: WordIndex;
  /** The text of `search.json`, in pieces. @param pathOf as for {@link encodeMiniSearch} */
  miniSearch(pathOf: (rank: number) => string): Iterable<string>;
}

/** The words of a game, in the order of its variants. */
interface GameVariants {
  readonly variants: readonly (readonly number[])[];
  /** Whether the last one is the words of the game's slug, and of none of its titles. */
  readonly endsWithSlug: boolean;
}

/**
 * Collects the words of games, which are added in title order.
 * @param games how many there will be
 * @param earlier the words that were written of an earlier catalogue, and how many games it has
 */
export function makeWords(
  games: number,
  earlier: { readonly file: () => ColumnFile; readonly games: number } | undefined,
) {
  const table = makeTextTable();
  let earlierVariants: ((rank: number) => GameVariants) | undefined;
  const words = new GrowingList();
  const start = new GrowingList();
  let end = 0;
  start.add(end);
  const further: (readonly number[])[] = [];
  const rankOfFurther: number[] = [];
  const slugVariants: number[] = [];
  const addVariant = (variant: readonly number[]) => {
    for (const word of variant) words.add(word);
    end += variant.length;
    start.add(end);
  };
  const addGame = (rank: number, { variants, endsWithSlug }: GameVariants) => {
    const [first = [], ...others] = variants;
    addVariant(first);
    for (const variant of others) {
      further.push(variant);
      rankOfFurther.push(rank);
    }
    if (endsWithSlug) slugVariants.push(games + further.length - 1);
  };
  return {
    /** Adds the words that a game had in the earlier catalogue. @param before its rank there */
    copy(rank: number, before: number): void {
      if (earlier === undefined) throw new Error('There is no earlier file of words.');
      earlierVariants ??= readVariants(earlier.file(), earlier.games, table.numberOf);
      addGame(rank, earlierVariants(before));
    },
    /**
     * @param variants of the title and the alternative titles
     * @param ofSlug the words of the slug, if the game is found by them, too
     */
    add(rank: number, variants: readonly string[][], ofSlug: string[] | undefined): void {
      // No variant but the first is empty, and no two are equal.
      const [first = [], ...others] = variants;
      const distinct = [first];
      const addNew = (variant: string[]): boolean => {
        const isNew = variant.length > 0 && !distinct.some((known) => equals(known, variant));
        if (isNew) distinct.push(variant);
        return isNew;
      };
      others.forEach(addNew);
      const endsWithSlug = ofSlug !== undefined && addNew(ofSlug);
      addGame(rank, {
        variants: distinct.map((variant) => variant.map(table.numberOf)),
        endsWithSlug,
      });
    },
    /** Makes the files of all games. */
    finish(): WrittenWords {
      for (const variant of further) addVariant(variant);
      const { orderOf, sorted } = table.inOrder();
      const all: VariantWords = { words: words.all(), start: start.all() };
      for (let at = 0; at < end; at++) all.words[at] = orderOf[all.words[at]];
      const { postings, frequencies, distinct } = invert(sorted, all);
      const columns: WordIndex = {
        words: postings,
        endings: indexEndings(postings),
        variants: all,
        rankOfFurther: Uint32Array.from(rankOfFurther),
        slugVariants: Uint32Array.from(slugVariants),
        variantsByWords: sortVariants(all),
      };
      const ofTitles = distinct.subarray(0, games);
      return {
        columns,
        miniSearch: (pathOf) => encodeMiniSearch(postings, frequencies, ofTitles, pathOf),
      };
    },
  };
}

/** @returns a function that returns the variants of the game at a rank, with the numbers of words from `numberOf` */
function readVariants(
  file: ColumnFile,
  games: number,
  numberOf: (word: string) => number,
): (rank: number) => GameVariants {
  const { words: texts, variants, rankOfFurther, slugVariants } = openWords(file, games);
  const { words, start } = variants;
  const ofSlug = new Set(slugVariants);
  const numbers = new Uint32Array(textCount(texts)).fill(NONE);
  const furtherOf = new Map<number, number[]>();
  rankOfFurther.forEach((rank, position) => {
    getOrAdd(furtherOf, rank, () => []).push(games + position);
  });
  const wordsOf = (variant: number) =>
    Array.from(words.subarray(start[variant], start[variant + 1]), (word) => {
      if (numbers[word] === NONE) numbers[word] = numberOf(textAt(texts, word));
      return numbers[word];
    });
  return (rank) => {
    const further = furtherOf.get(rank) ?? [];
    return {
      variants: [rank, ...further].map(wordsOf),
      endsWithSlug: ofSlug.has(further.at(-1) ?? -1),
    };
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
    /** The words in the order of their code units, and for each number its position in that order. */
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

/** How often a variant has a word is counted up to this. */
const MOST_COUNTED = 255;

/**
 * Makes postings: for each word, the variants that have it. Parallel to their entries: `frequencies`, how often
 * the variant has the word. `distinct`: how many different words each variant has.
 */
function invert(sorted: Pick<Postings, 'text' | 'textStart'>, { words, start }: VariantWords) {
  const variantOf = numbersOf(groupsOf(columnOf(start)));
  const ofWords = group<number, number, number>(columnOf(words), textCount(sorted));
  const [entries, entriesStart] = [new GrowingList(), new GrowingList()];
  const frequencies = new Uint8Array(words.length);
  const distinct = new Uint16Array(start.length - 1);
  let count = 0;
  for (let word = 0; word < textCount(sorted); word++) {
    entriesStart.add(count);
    for (let at = ofWords.start[word]; at < ofWords.start[word + 1]; at++) {
      const variant = variantOf[ofWords.members[at]];
      // A variant can have a word several times.
      if (at === ofWords.start[word] || entries.last() !== variant) {
        entries.add(variant);
        distinct[variant]++;
        count++;
      }
      frequencies[count - 1] = Math.min(frequencies[count - 1] + 1, MOST_COUNTED);
    }
  }
  entriesStart.add(count);
  const postings = { ...sorted, entries: entries.all(), entriesStart: entriesStart.all() };
  return { postings, frequencies, distinct };
}

/** The endings of the words in scripts without spaces, each with the variants that have it. */
function indexEndings(words: Postings): Postings {
  const variantsOfEnding = new Map<string, Set<number>>();
  for (let word = 0; word < textCount(words); word++) {
    const text = textAt(words, word);
    if (!isScriptWithoutSpaces(text)) continue;
    const characters = [...text];
    // Every suffix that has at least two characters, cut to the longest ending.
    for (let from = 0; from + 1 < characters.length; from++) {
      const ending = characters.slice(from, from + LONGEST_ENDING).join('');
      const variants = getOrAdd(variantsOfEnding, ending, () => new Set<number>());
      for (const variant of entriesAt(words, word)) variants.add(variant);
    }
  }
  return makePostings(
    new Map(
      Array.from(variantsOfEnding, ([ending, variants]) => [
        ending,
        [...variants].sort((a, b) => a - b),
      ]),
    ),
  );
}

/** The numbers of all variants, ordered by their words. */
function sortVariants({ words, start }: VariantWords): Uint32Array {
  const order = Uint32Array.from({ length: start.length - 1 }, (_, variant) => variant);
  return order.sort((a, b) => compareSlices(words, start, a, b) || a - b);
}
