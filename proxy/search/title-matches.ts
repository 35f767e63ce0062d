/**
 * Finds the titles that match all words of a query. The last word also matches the beginning of a word,
 * and a word in a script without spaces matches any part of one. If no title matches, near spellings
 * are tried.
 */
import {
  findPrefix,
  findText,
  type Postings,
  runBetween,
  type SearchIndex,
} from '../../format/index/search-index.ts';
import { isJoinedScript, nearSpellingDistance } from '../../format/index/words.ts';
import { nearSpellings } from './near-spellings.ts';
import type { PostingSets } from './posting-sets.ts';
import { atMost, EMPTY, intersect, isEmpty, join, type RankSet } from './rank-set.ts';
import type { SpellingIndex } from './spelling-index.ts';

/** @returns a function that finds the titles which match all words of a query; it needs at least one */
export function makeTitleMatcher(
  index: SearchIndex,
  spellings: SpellingIndex,
  sets: PostingSets,
): (words: readonly string[]) => RankSet {
  const { games } = index;

  function withPrefix(kind: 'words' | 'endings', prefix: string): RankSet {
    const postings: Postings = index[kind];
    const [from, to] = findPrefix(postings, prefix);
    if (to - from === 1) return sets.ofText(postings, from);
    return sets.ofRuns(`${kind} ${from} ${to}`, () => [runBetween(postings, from, to)]);
  }

  function matchWord(word: string, isLast: boolean): RankSet {
    // A prefix of an ending of a word is any part of the word. The endings include the whole word.
    if (isJoinedScript(word) && [...word].length > 1) return withPrefix('endings', word);
    if (isLast) return withPrefix('words', word);
    const found = findText(index.words, word);
    return found < 0 ? EMPTY : sets.ofText(index.words, found);
  }

  function matchNearWord(word: string, isLast: boolean): RankSet {
    const exact = matchWord(word, isLast);
    const distance = nearSpellingDistance(word);
    if (distance === 0) return exact;
    const runs = nearSpellings(spellings, word, distance).map((number) =>
      runBetween(index.words, number, number + 1),
    );
    return join(exact, runs, games);
  }

  function matchExactly(words: readonly string[]): RankSet {
    const found: RankSet[] = [];
    for (const [position, word] of words.entries()) {
      const set = matchWord(word, position === words.length - 1);
      if (atMost(set) === 0) return EMPTY;
      found.push(set);
    }
    return intersect(found);
  }

  function matchNearly(words: readonly string[]): RankSet {
    let found: RankSet | undefined;
    for (const [position, word] of words.entries()) {
      const set = matchNearWord(word, position === words.length - 1);
      found = found === undefined ? set : intersect([found, set]);
      // Searching near spellings is expensive: stop as soon as no title is left.
      if (isEmpty(found)) return EMPTY;
    }
    return found ?? EMPTY;
  }

  return (words) => {
    const exact = matchExactly(words);
    return isEmpty(exact) ? matchNearly(words) : exact;
  };
}
