/** Makes the patterns of the readings of a query, and stops early if no title can match. */
import { intersect, unite } from '../sets/combine.ts';
import { atMost, isEmpty, type NumberSet } from '../sets/number-set.ts';
import { MOST_JOINED, type Pattern, type Way } from './pattern.ts';
import type { Ways } from './ways.ts';

/**
 * @param isNear whether near spellings of a word count as the word
 * @returns undefined if no reading can match
 */
export type MakePattern = (words: readonly string[], isNear: boolean) => Pattern | undefined;

/** In so few readings, the near spellings of a word are found faster than in all. */
const FEW_READINGS = 300;

/**
 * @param readings how many readings there are
 * @param findNear returns the numbers of the near spellings of a word, or only of those in some readings
 * @returns a function to call once for each query. What it returns remembers the words it has looked up
 */
export function makePatternMaker(
  ways: Ways,
  readings: number,
  findNear: (word: string, readings?: Uint32Array) => readonly number[],
): () => MakePattern {
  return () => {
    const known = new Map<string, readonly Way[]>();
    const remember = (key: string, find: () => readonly Way[]) => {
      const found = known.get(key) ?? find();
      known.set(key, found);
      return found;
    };

    function waysOfWord(words: readonly string[], at: number): readonly Way[] {
      const isLast = at === words.length - 1;
      return remember(`word ${isLast} ${words[at]}`, () => ways.ofWord(words[at], isLast, []));
    }

    /** As `waysOfWord`, with near spellings. @param rest the readings that can still match */
    function nearWaysOf(words: readonly string[], at: number, rest?: NumberSet): readonly Way[] {
      const isLast = at === words.length - 1;
      const few =
        rest?.list !== undefined && rest.list.length <= FEW_READINGS ? rest.list : undefined;
      const find = () => ways.ofWord(words[at], isLast, findNear(words[at], few));
      return few === undefined ? remember(`near ${isLast} ${words[at]}`, find) : find();
    }

    function waysOfJoined(words: readonly string[], at: number, count: number): readonly Way[] {
      const joined = words.slice(at, at + count);
      const hasLast = at + count === words.length;
      return remember(`joined ${hasLast} ${joined.join(' ')}`, () =>
        ways.ofJoinedWords(joined, hasLast),
      );
    }

    /** The positions of the words. In `near`, those of rare words come first. */
    function positionsOf(words: readonly string[], isNear: boolean): number[] {
      const positions = [...words.keys()];
      if (!isNear) return positions;
      const sizes = positions.map((at) =>
        waysOfWord(words, at).reduce((sum, way) => sum + atMost(way.readings()), 0),
      );
      return positions.sort((a, b) => sizes[a] - sizes[b]);
    }

    return (words, isNear) => {
      const pattern = words.map((word) => [...ways.ofSplitWord(word)]);
      // Words that can match together with their neighbours need no way of their own.
      const isCovered = words.map(() => false);
      for (let at = 0; at < words.length; at++) {
        for (let count = 2; count <= Math.min(MOST_JOINED, words.length - at); count++) {
          const joined = waysOfJoined(words, at, count);
          pattern[at].push(...joined);
          if (joined.length > 0) isCovered.fill(true, at, at + count);
        }
      }
      // Near spellings take long to find. So the readings that match the words so far are kept. If they are
      // few, only their words are compared, and if none is left, no more spellings are searched.
      let rest: NumberSet | undefined;
      for (const at of positionsOf(words, isNear)) {
        pattern[at].push(...(isNear ? nearWaysOf(words, at, rest) : waysOfWord(words, at)));
        if (isCovered[at]) continue;
        if (pattern[at].length === 0) return undefined;
        if (!isNear) continue;
        const found = unite(
          pattern[at].map((way) => way.readings()),
          readings,
        );
        rest = rest === undefined ? found : intersect([rest, found]);
        if (isEmpty(rest)) return undefined;
      }
      return pattern;
    };
  };
}
