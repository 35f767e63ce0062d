/** Makes the pattern of a variant of a query: for each of its words, the alternatives. */

import type { Alternative, AlternativeFinder, WordPosition } from './alternatives.ts';
import type { VariantNumber } from './open.ts';
import { atMost, isEmpty, type NumberSet } from './sets/number-set.ts';

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
