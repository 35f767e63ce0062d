/**
 * Writes the words of all titles: `index/words.bin`, in which the proxy finds games, and those of the first
 * variants as `search.json`, which MiniSearch can load with `search-options.json`.
 */

import type { Variants } from '../../generator/reuse/stored-generation.ts';
import { at, type Rank } from '../../generator/rows/numbers.ts';
import type { Output } from '../../generator/write/file-writer.ts';
import { encodeTexts, makePostings } from '../../generator/write/indexes.ts';
import type { WriteSource } from '../../generator/write/packs.ts';
import { compareSlices } from '../../lib/columns/arrays.ts';
import { columnOf, group, groupsOf, NumberList, numbersOf } from '../../lib/columns/columns.ts';
import { encodeColumns } from '../../lib/columns/container.ts';
import { MINISEARCH, WORD_INDEX } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { equals } from '../text/variants.ts';
import { isScriptWithoutSpaces } from '../text/words.ts';
import { encodeMiniSearch } from './minisearch.ts';
import type { Postings, VariantWords, WordIndex } from './open.ts';
import { entriesAt, LONGEST_ENDING, textAt, textCount } from './open.ts';

/** Collects the words of games, which are added in title order. */
export function makeWords(output: Output, source: WriteSource) {
  const { platforms, games, stored } = source;
  const { itemOfRank } = source.numbering;
  const table = makeTextTable();
  let storedVariants: ((game: number) => Variants) | undefined;
  const words = new NumberList();
  const start = new NumberList();
  let end = 0;
  start.add(end);
  const further: (readonly number[])[] = [];
  const rankOfFurther: Rank[] = [];
  const slugVariants: number[] = [];
  const addVariant = (variant: readonly number[]) => {
    for (const word of variant) words.add(word);
    end += variant.length;
    start.add(end);
  };
  const addGame = (
    rank: Rank,
    [first = [], ...others]: readonly (readonly number[])[],
    endsWithSlug: boolean,
  ) => {
    addVariant(first);
    for (const variant of others) {
      further.push(variant);
      rankOfFurther.push(rank);
    }
    if (endsWithSlug) slugVariants.push(itemOfRank.length + further.length - 1);
  };
  return {
    /** Adds the stored words of a game. @param number of the stored game */
    copy(rank: Rank, number: number): void {
      storedVariants ??= stored?.variants(table.numberOf);
      const found = storedVariants?.(number);
      if (found !== undefined) addGame(rank, found.variants, found.endsWithSlug);
    },
    /**
     * @param variants of the title and the alternative titles
     * @param ofSlug the words of the slug, if the game is found by them, too
     */
    add(rank: Rank, variants: readonly string[][], ofSlug: string[] | undefined): void {
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
      addGame(
        rank,
        distinct.map((variant) => variant.map(table.numberOf)),
        endsWithSlug,
      );
    },
    async write(): Promise<ManifestFile[]> {
      for (const variant of further) addVariant(variant);
      const { orderOf, sorted } = table.inOrder();
      const all: VariantWords = { words: words.all(), start: start.all() };
      for (let at = 0; at < end; at++) all.words[at] = orderOf[all.words[at]];
      const { postings, frequencies, distinct } = invert(sorted, all);
      const index: WordIndex = {
        words: postings,
        endings: indexEndings(postings),
        variants: all,
        rankOfFurther: Uint32Array.from(rankOfFurther),
        slugVariants: Uint32Array.from(slugVariants),
        variantsByWords: sortVariants(all),
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
  const [entries, entriesStart] = [new NumberList(), new NumberList()];
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
