/**
 * Makes the file of words, in which a search finds games by their titles, and from it an index that MiniSearch can
 * load. What an earlier run wrote is read by this file alone.
 */
import { compareSlices } from '../../lib/columns/arrays.ts';
import {
  columnOf,
  GrowingList,
  group,
  groupsOf,
  merge,
  numbersOf,
  through,
  withoutNone,
} from '../../lib/columns/columns.ts';
import type { ColumnFile } from '../../lib/columns/container.ts';
import { NONE } from '../../lib/columns/numbers.ts';
import {
  encodeTexts,
  entriesAt,
  findText,
  makePostings,
  mergePostings,
  type Postings,
  textAt,
  textCount,
} from '../../lib/columns/postings.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { equals } from '../text/variants.ts';
import { isScriptWithoutSpaces } from '../text/words.ts';
import { type TextTarget, writeMiniSearch } from './minisearch.ts';
import { LONGEST_ENDING, openWords, type VariantWords, type WordIndex } from './open.ts';

export interface WrittenWords {
  readonly columns: WordIndex;
  /** Writes `search.json`. @param pathOf as for {@link writeMiniSearch} */
  writeMiniSearch(target: TextTarget, pathOf: (rank: number) => string): void;
}

/** The words of a game, in the order of its variants. */
interface GameVariants {
  readonly variants: readonly (readonly string[])[];
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
  /** The ranks now of the games of the earlier catalogue. */
  const rankNow = new Uint32Array(earlier?.games ?? 0).fill(NONE);
  const added: AddedGame[] = [];
  const all = collectWords(games);
  return {
    /** Keeps the words that a game had in the earlier catalogue. @param before its rank there */
    copy(rank: number, before: number): void {
      rankNow[before] = rank;
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
      const game = { variants: distinct, endsWithSlug };
      if (earlier === undefined) all.add(rank, game);
      else added.push({ rank, ...game });
    },
    /** Makes the files of all games. */
    finish(): WrittenWords {
      const columns =
        earlier === undefined
          ? all.finish()
          : mergeWords(openWords(earlier.file(), earlier.games), rankNow, games, added);
      return {
        columns,
        writeMiniSearch: (target, pathOf) => writeMiniSearch(target, columns, games, pathOf),
      };
    },
  };
}

/** Collects the words of all games. @param games how many there will be */
function collectWords(games: number) {
  const table = makeTextTable();
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
  return {
    add(rank: number, { variants, endsWithSlug }: GameVariants): void {
      const [first = [], ...others] = variants.map((variant) => variant.map(table.numberOf));
      addVariant(first);
      for (const variant of others) {
        further.push(variant);
        rankOfFurther.push(rank);
      }
      if (endsWithSlug) slugVariants.push(games + further.length - 1);
    },
    finish(): WordIndex {
      for (const variant of further) addVariant(variant);
      const { orderOf, sorted } = table.inOrder();
      const all: VariantWords = { words: words.all(), start: start.all() };
      for (let at = 0; at < end; at++) all.words[at] = orderOf[all.words[at]];
      const postings = invert(sorted, all);
      return {
        words: postings,
        endings: indexEndings(postings),
        variants: all,
        rankOfFurther: Uint32Array.from(rankOfFurther),
        slugVariants: Uint32Array.from(slugVariants),
        variantsByWords: sortVariants(all),
      };
    },
  };
}

interface AddedGame extends GameVariants {
  readonly rank: number;
}

/**
 * Merges the words of an earlier catalogue with those of games that were added. Games that are kept are in the same
 * order as before.
 * @param rankNow for each game of the earlier catalogue, its rank now, or none @param games how many there are now
 * @param added in title order
 */
function mergeWords(
  before: WordIndex,
  rankNow: Uint32Array,
  games: number,
  added: readonly AddedGame[],
): WordIndex {
  const gamesBefore = rankNow.length;
  /** For each variant of before, its number now, or none. */
  const numberNow = new Uint32Array(gamesBefore + before.rankOfFurther.length).fill(NONE);
  numberNow.set(rankNow);
  const addedVariants: [number: number, words: readonly string[]][] = [];
  const slugVariants: number[] = [];
  const rankOfFurther = new GrowingList();
  let variants = games;
  let next = 0;
  /** Numbers the further variants of the games that were added, up to a rank. */
  const addUpTo = (rank: number) => {
    for (; next < added.length && added[next].rank < rank; next++) {
      const [first, ...others] = added[next].variants;
      addedVariants.push([added[next].rank, first]);
      for (const variant of others) {
        addedVariants.push([variants++, variant]);
        rankOfFurther.add(added[next].rank);
      }
      if (added[next].endsWithSlug) slugVariants.push(variants - 1);
    }
  };
  before.rankOfFurther.forEach((rankBefore, position) => {
    const rank = rankNow[rankBefore];
    if (rank === NONE) return;
    addUpTo(rank);
    rankOfFurther.add(rank);
    numberNow[gamesBefore + position] = variants++;
  });
  addUpTo(games);
  addedVariants.sort(([a], [b]) => a - b);
  for (const variant of before.slugVariants)
    if (numberNow[variant] !== NONE) slugVariants.push(numberNow[variant]);

  const [addedWords, addedEndings] = [new Map<string, number[]>(), new Map<string, number[]>()];
  const addTo = (lists: Map<string, number[]>, text: string, variant: number) => {
    const list = getOrAdd(lists, text, () => []);
    // A variant can have a word or an ending several times.
    if (list.at(-1) !== variant) list.push(variant);
  };
  for (const [variant, words] of addedVariants)
    for (const word of words) {
      addTo(addedWords, word, variant);
      for (const ending of endingsOf(word)) addTo(addedEndings, ending, variant);
    }
  const { now: words, indexNow } = mergePostings(before.words, numberNow, addedWords);
  const ofAdded = addedVariants.map(([variant, texts]) => {
    return [variant, texts.map((text) => findText(words, text))] as const;
  });
  const all = mergeVariants(before.variants, numberNow, indexNow, variants, ofAdded);
  const compare = (a: number, b: number) => compareSlices(all.words, all.start, a, b) || a - b;
  const kept = through(columnOf<number, number>(before.variantsByWords), columnOf(numberNow));
  const sorted = addedVariants.map(([variant]) => variant).sort(compare);
  return {
    words,
    endings: mergePostings(before.endings, numberNow, addedEndings).now,
    variants: all,
    rankOfFurther: rankOfFurther.all(),
    slugVariants: Uint32Array.from(slugVariants).sort(),
    variantsByWords: numbersOf(merge(numbersOf(withoutNone(kept)), sorted, compare)),
  };
}

/**
 * @param indexNow for each word of before, its index now @param count how many variants there are now
 * @param added the further ones, each with the indexes of its words
 */
function mergeVariants(
  before: VariantWords,
  numberNow: Uint32Array,
  indexNow: Uint32Array,
  count: number,
  added: readonly (readonly [variant: number, words: readonly number[]])[],
): VariantWords {
  const start = new Uint32Array(count + 1);
  for (let variant = 0; variant < numberNow.length; variant++)
    if (numberNow[variant] !== NONE)
      start[numberNow[variant] + 1] = before.start[variant + 1] - before.start[variant];
  for (const [variant, { length }] of added) start[variant + 1] = length;
  for (let variant = 0; variant < count; variant++) start[variant + 1] += start[variant];
  const words = new Uint32Array(start[count]);
  for (let variant = 0; variant < numberNow.length; variant++) {
    if (numberNow[variant] === NONE) continue;
    let to = start[numberNow[variant]];
    for (let at = before.start[variant]; at < before.start[variant + 1]; at++)
      words[to++] = indexNow[before.words[at]];
  }
  for (const [variant, ofVariant] of added) words.set(ofVariant, start[variant]);
  return { words, start };
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

/** Makes postings: for each word, the variants that have it. */
function invert(
  sorted: Pick<Postings, 'text' | 'textStart'>,
  { words, start }: VariantWords,
): Postings {
  const variantOf = numbersOf(groupsOf(columnOf(start)));
  const ofWords = group<number, number, number>(columnOf(words), textCount(sorted));
  const [entries, entriesStart] = [new GrowingList(), new GrowingList()];
  let count = 0;
  for (let word = 0; word < textCount(sorted); word++) {
    entriesStart.add(count);
    for (let at = ofWords.start[word]; at < ofWords.start[word + 1]; at++) {
      const variant = variantOf[ofWords.members[at]];
      // A variant can have a word several times.
      if (at > ofWords.start[word] && entries.last() === variant) continue;
      entries.add(variant);
      count++;
    }
  }
  entriesStart.add(count);
  return { ...sorted, entries: entries.all(), entriesStart: entriesStart.all() };
}

/** The endings of the words in scripts without spaces, each with the variants that have it. */
function indexEndings(words: Postings): Postings {
  const variantsOfEnding = new Map<string, Set<number>>();
  for (let word = 0; word < textCount(words); word++) {
    for (const ending of endingsOf(textAt(words, word))) {
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

/** Every suffix of a word that has at least two characters, cut to the longest ending; none in other scripts. */
function endingsOf(word: string): string[] {
  if (!isScriptWithoutSpaces(word)) return [];
  const characters = [...word];
  return characters
    .slice(0, -1)
    .map((_, from) => characters.slice(from, from + LONGEST_ENDING).join(''));
}

/** The numbers of all variants, ordered by their words. */
function sortVariants({ words, start }: VariantWords): Uint32Array {
  const order = Uint32Array.from({ length: start.length - 1 }, (_, variant) => variant);
  return order.sort((a, b) => compareSlices(words, start, a, b) || a - b);
}
