/** Makes the pattern of a variant of a query: for each of its words, the ways to match it. */
import type { VariantNumber } from '../../../lib/format/index/numbers.ts';
import { atMost, isEmpty, type NumberSet } from './sets/number-set.ts';
import type { Place, Way, WayFinder } from './ways.ts';

/** For each word of a query, by position, the ways to match it and the words after it. */
export type Pattern = readonly (readonly Way[])[];

/** The numbers of the near spellings of a word. @param among if given, only those in these variants matter */
export type FindNear = (
  word: string,
  isLast: boolean,
  among?: NumberSet<VariantNumber>,
) => readonly number[];

/** At most this many neighbouring words count as one. */
const MOST_JOINED = 3;

/** Makes the patterns of one query, whose variants have most words in common. */
export class PatternMaker {
  private readonly ways: WayFinder;
  private readonly known = new Map<string, readonly Way[]>();

  constructor(ways: WayFinder) {
    this.ways = ways;
  }

  /**
   * @param findNear undefined if only the words themselves count
   * @returns undefined if no variant can match
   */
  make(words: readonly string[], findNear?: FindNear): Pattern | undefined {
    const { variants } = this.ways;
    const last = words.length - 1;
    const pattern: Way[][] = words.map(() => []);
    // Words that can match together with their neighbours need no way of their own.
    const isJoined = words.map(() => false);
    for (let at = 0; at < words.length; at++) {
      for (let end = at + 2; end <= Math.min(at + MOST_JOINED, words.length); end++) {
        const parts = words.slice(at, end);
        const place = { isFirst: at === 0, isLast: end > last };
        const joined = this.once('joined', parts, place, () => this.ways.ofJoined(parts, place));
        pattern[at].push(...joined);
        if (joined.length > 0) isJoined.fill(true, at, end);
      }
    }
    const placeOf = (at: number): Place => ({ isFirst: at === 0, isLast: at === last });
    const exact = words.map((word, at) =>
      this.once('word', [word], placeOf(at), () => this.ways.ofWord(word, placeOf(at))),
    );
    const sizes = exact.map(([way]) => (way === undefined ? 0 : atMost(way.variants)));
    // Splits and near spellings take long to find, so those of rare words come first: no more are searched
    // once no variant can match. That is tested only with near spellings; otherwise it takes longer.
    let among: NumberSet<VariantNumber> | undefined;
    for (const at of [...words.keys()].sort((a, b) => sizes[a] - sizes[b])) {
      const word = words[at];
      const spellings = findNear?.(word, at === last, among) ?? [];
      const single =
        spellings.length === 0 ? exact[at] : this.ways.ofWord(word, placeOf(at), spellings);
      pattern[at].push(...this.ways.ofSplit(word), ...single);
      if (isJoined[at]) continue;
      if (pattern[at].length === 0) return undefined;
      if (findNear === undefined) continue;
      const found = variants.unite(pattern[at].map((way) => way.variants));
      among = among === undefined ? found : variants.intersect([among, found]);
      if (isEmpty(among)) return undefined;
    }
    return pattern;
  }

  private once(
    kind: string,
    words: readonly string[],
    { isFirst, isLast }: Place,
    find: () => readonly Way[],
  ): readonly Way[] {
    const key = `${kind} ${isFirst} ${isLast} ${words.join(' ')}`;
    const ways = this.known.get(key) ?? find();
    this.known.set(key, ways);
    return ways;
  }
}
