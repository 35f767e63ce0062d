/**
 * Makes the pattern of a variant of a query: for each of its words, the alternatives, alone or together with the
 * words after it. That is what may stand for them in a title: either one word, or two or three neighbouring words
 * that the query writes as one.
 */

import { LRUCache } from 'lru-cache';
import { entriesAt, findPrefix, findText } from '../../lib/columns/postings.ts';
import { equalPrefixes, equalWords, isNumeral } from '../text/equal-words.ts';
import { isScriptWithoutSpaces } from '../text/words.ts';
import { LONGEST_ENDING, type SearchIndex, type VariantNumber } from './open.ts';
import type { Phrase, PhraseAlternative, Phrases } from './phrases.ts';
import { atMost, EMPTY, isEmpty, kept, type NumberSet } from './sets/number-set.ts';
import type { PostingSets } from './sets/posting-sets.ts';

/** One alternative for neighbouring words of a query, which some variant matches. */
export interface Alternative extends PhraseAlternative {
  /**
   * The ranges of the words that begin with the last word of the query: `from` inclusive, `to` exclusive.
   * Only an alternative with one word of a title has any, besides the phrase.
   */
  readonly prefixRanges: readonly (readonly [from: number, to: number])[];
  /** Whether a part of a word in a script without spaces is enough, whatever the phrase is. */
  readonly allowsParts: boolean;
  /** The variants that match. */
  readonly found: NumberSet<VariantNumber>;
  /** Those of them that match without a prefix. */
  readonly foundWhole: NumberSet<VariantNumber>;
}

/** Where words are in a query. Beside other words, two digits are a year. */
export interface WordPosition {
  readonly isAlone: boolean;
  readonly isLast: boolean;
}

/** Whether it is one word of a title for one word of the query. A word has at most one such alternative. */
export function isSingle({ queryWords, phrase }: Alternative): boolean {
  return queryWords === 1 && phrase.length === 1;
}

const FEWEST_CHARACTERS_OF_PART = 2;
/** How many numbers the kept splits of words may have: with them, different searches take 0.6 of the time. */
const MOST_KEPT = 1_000_000;
/** What a split of a word counts as, besides its variants. */
const SPLIT_SIZE = 50;

export class AlternativeFinder {
  private readonly index: SearchIndex;
  private readonly phrases: Phrases;
  readonly variantSets: PostingSets<VariantNumber>;
  private readonly splits = new LRUCache<string, readonly Alternative[]>({
    maxSize: MOST_KEPT,
    sizeCalculation: (alternatives) =>
      alternatives.reduce((size, { found }) => size + SPLIT_SIZE + lengthOf(found), SPLIT_SIZE),
  });

  constructor(index: SearchIndex, phrases: Phrases) {
    this.index = index;
    this.phrases = phrases;
    this.variantSets = phrases.variantSets;
  }

  /** @param near the numbers of the near spellings of the word, which count as the word */
  ofWord(word: string, position: WordPosition, near: readonly number[] = []): Alternative[] {
    const numbers = ascending([...this.numbersOf(equalWords(word, !position.isAlone)), ...near]);
    const prefixRanges = position.isLast ? this.prefixRangesOf(word) : [];
    return this.ofOne(1, numbers, prefixRanges, this.withPart(word));
  }

  /** The alternatives for words that titles join: one word. */
  ofJoined(words: readonly string[], { isLast }: WordPosition): Alternative[] {
    const joined = words.join('');
    // The words, or words that equal them, written as one. Before a third word, texts with which no word of a title
    // begins are left out: three words with three long vowels each have 512 texts.
    let texts = [''];
    for (const [at, word] of words.entries()) {
      const equals = equalWords(word, at > 0);
      if (at > 1) texts = texts.filter((text) => this.rangesOfPrefixes([text]).length > 0);
      texts = texts.flatMap((text) => equals.map((equal) => text + equal));
    }
    const numbers = this.numbersOf(texts.filter((text) => !isNumeral(text)));
    const prefixRanges = isLast && !isNumeral(joined) ? this.rangesOfPrefixes([joined]) : [];
    return this.ofOne(words.length, numbers, prefixRanges);
  }

  /** The alternatives for a word that titles split: two or three neighbouring words. */
  ofSplit(word: string): readonly Alternative[] {
    if (isNumeral(word)) return [];
    const known = this.splits.get(word);
    if (known !== undefined) return known;
    const alternatives = this.phrasesOf(word).flatMap((phrase): Alternative[] => {
      const among = this.phrases.candidates(phrase);
      const found = kept(this.phrases.find([[{ queryWords: 1, phrase }]], among));
      if (isEmpty(found)) return [];
      const sets = { found, foundWhole: found };
      return [{ queryWords: 1, phrase, prefixRanges: [], allowsParts: false, ...sets }];
    });
    this.splits.set(word, alternatives);
    return alternatives;
  }

  /** The splits of a word into two or three words that are neighbours in some variant, or seem to be. */
  private phrasesOf(word: string): Phrase[] {
    const found: Phrase[] = [];
    const numbersAt = (from: number, to?: number) =>
      this.numbersOf(equalWords(word.slice(from, to), from > 0));
    for (let i = 1; i < word.length; i++) {
      const first = numbersAt(0, i);
      if (first.length === 0) continue;
      for (let j = i + 1; j <= word.length; j++) {
        const second = numbersAt(i, j);
        if (!this.phrases.mayBeNeighbours(first, second)) continue;
        if (j === word.length) {
          found.push([first, second]);
          continue;
        }
        const third = numbersAt(j);
        if (this.phrases.mayBeNeighbours(second, third)) found.push([first, second, third]);
      }
    }
    return found;
  }

  /**
   * The alternative for words of a query that is one word of a title, if there is one.
   * @param prefixRanges the ranges of the words that begin with the last word of the query, or with an equal prefix
   * @param parts the variants with a word that contains the word of the query
   */
  private ofOne(
    queryWords: number,
    numbers: readonly number[],
    prefixRanges: Alternative['prefixRanges'],
    parts: NumberSet<VariantNumber> = EMPTY,
  ): Alternative[] {
    const { variantSets } = this;
    const foundWhole = variantSets.unite([this.withNumbers(numbers), parts]);
    const alternative = {
      queryWords,
      phrase: [numbers],
      allowsParts: !isEmpty(parts),
      foundWhole,
    };
    if (prefixRanges.length > 0) {
      // Most words that match whole also begin with the last word: they need not be looked up again.
      const others = numbers.filter((number) =>
        prefixRanges.every(([from, to]) => number < from || number >= to),
      );
      const withPrefix = prefixRanges.map(([from, to]) => variantSets.ofTexts('words', from, to));
      const found = variantSets.unite([...withPrefix, this.withNumbers(others), parts]);
      return [{ ...alternative, prefixRanges, found }];
    }
    return isEmpty(foundWhole) ? [] : [{ ...alternative, prefixRanges, found: foundWhole }];
  }

  /** The ranges of the words that begin with a word, or with an equal prefix. */
  prefixRangesOf(word: string): Alternative['prefixRanges'] {
    return this.rangesOfPrefixes(equalPrefixes(word));
  }

  private rangesOfPrefixes(texts: readonly string[]): Alternative['prefixRanges'] {
    const ranges = texts.map((text) => findPrefix(this.index.words, text));
    return ranges.filter(([from, to]) => from < to);
  }

  /** The numbers of the given words that titles have, each once, ascending. */
  private numbersOf(words: readonly string[]): readonly number[] {
    const numbers = words.map((word) => findText(this.index.words, word));
    return ascending(numbers.filter((number) => number >= 0));
  }

  private withNumbers(numbers: readonly number[]): NumberSet<VariantNumber> {
    if (numbers.length === 0) return EMPTY;
    if (numbers.length === 1) return this.variantSets.ofTexts('words', numbers[0]);
    return this.variantSets.ofLists(`numbers ${numbers}`, () =>
      numbers.map((number) => entriesAt(this.index.words, number)),
    );
  }

  /** The variants with a word that contains a word in a script without spaces. */
  private withPart(word: string): NumberSet<VariantNumber> {
    if (!isScriptWithoutSpaces(word)) return EMPTY;
    const characters = [...word];
    if (characters.length < FEWEST_CHARACTERS_OF_PART) return EMPTY;
    // A part of a word is the prefix of an ending. Folding can make a word longer than any ending.
    const part = characters.slice(0, LONGEST_ENDING).join('');
    return this.variantSets.ofTexts('endings', ...findPrefix(this.index.endings, part));
  }
}

/** For each word of a query, by position, the alternatives for it and the words after it. */
export type Pattern = readonly (readonly Alternative[])[];

/** The numbers of the near spellings of a word. @param among if given, only those in these variants matter */
export type FindNear = (word: string, among?: NumberSet<VariantNumber>) => readonly number[];

/** At most this many neighbouring words count as one. */
const MOST_JOINED = 3;

/** Makes the patterns of one query, whose variants have most words in common. */
export class PatternMaker {
  private readonly alternatives: AlternativeFinder;
  private readonly known = new Map<string, readonly Alternative[]>();

  constructor(alternatives: AlternativeFinder) {
    this.alternatives = alternatives;
  }

  /**
   * @param findNear undefined if only the words themselves count
   * @returns undefined if no variant can match
   */
  make(words: readonly string[], findNear?: FindNear): Pattern | undefined {
    const { variantSets } = this.alternatives;
    const last = words.length - 1;
    const isAlone = last === 0;
    const pattern: Alternative[][] = words.map(() => []);
    // Words that can match together with their neighbours need no alternative of their own.
    const isJoined = words.map(() => false);
    for (let at = 0; at < words.length; at++) {
      for (let end = at + 2; end <= Math.min(at + MOST_JOINED, words.length); end++) {
        const parts = words.slice(at, end);
        const position = { isAlone, isLast: end > last };
        const joined = this.once(parts, position, () =>
          this.alternatives.ofJoined(parts, position),
        );
        pattern[at].push(...joined);
        if (joined.length > 0) isJoined.fill(true, at, end);
      }
    }
    const positionOf = (at: number): WordPosition => ({ isAlone, isLast: at === last });
    const exact = words.map((word, at) =>
      this.once([word], positionOf(at), () => this.alternatives.ofWord(word, positionOf(at))),
    );
    const sizes = exact.map(([alternative]) =>
      alternative === undefined ? 0 : atMost(alternative.found),
    );
    // Splits and near spellings take long to find, so those of rare words come first: no more are searched
    // once no variant can match. That is tested only with near spellings; otherwise it takes longer.
    let among: NumberSet<VariantNumber> | undefined;
    for (const at of [...words.keys()].sort((a, b) => sizes[a] - sizes[b])) {
      const word = words[at];
      const spellings = findNear?.(word, among) ?? [];
      const single =
        spellings.length === 0
          ? exact[at]
          : this.alternatives.ofWord(word, positionOf(at), spellings);
      pattern[at].push(...this.alternatives.ofSplit(word), ...single);
      if (isJoined[at]) continue;
      if (pattern[at].length === 0) return undefined;
      if (findNear === undefined) continue;
      const found = variantSets.unite(pattern[at].map((alternative) => alternative.found));
      among = among === undefined ? found : variantSets.intersect([among, found]);
      if (isEmpty(among)) return undefined;
    }
    return pattern;
  }

  private once(
    words: readonly string[],
    { isAlone, isLast }: WordPosition,
    find: () => readonly Alternative[],
  ): readonly Alternative[] {
    const key = `${isAlone} ${isLast} ${words.join(' ')}`;
    const alternatives = this.known.get(key) ?? find();
    this.known.set(key, alternatives);
    return alternatives;
  }
}

/** How many numbers a set has in memory. */
function lengthOf(set: NumberSet<VariantNumber>): number {
  return (set.list ?? set.bits).length;
}

/** Distinct numbers in ascending order. */
function ascending(numbers: readonly number[]): readonly number[] {
  return numbers.length < 2 ? numbers : [...new Set(numbers)].sort((a, b) => a - b);
}
