/** Finds the words of a query that name platforms. */
import type { RecordIndex } from '../../format/index/record-index.ts';
import { plainWordsOf } from '../../format/index/words.ts';
import { PLATFORM_NAMES } from './platform-names.ts';

export interface PlatformRun {
  /** The numbers of the platforms that the words name. */
  readonly platforms: readonly number[];
  /** The other words of the query. */
  readonly rest: readonly string[];
}

export interface PlatformWords {
  /** Whether a word by itself names a platform. */
  isName(word: string): boolean;
  /** The runs of neighbouring words that name platforms: longer ones first, then later ones first. */
  runsIn(words: readonly string[]): PlatformRun[];
}

/** What separates the names of one platform, as in "Mega Drive / Genesis". */
const NAME_SEPARATOR = /\s[-–|]\s|\//;
/** A qualifier does not name a platform: "Wii (Digital)" is called Wii. */
const QUALIFIER = /\([^)]*\)/g;

export function makePlatformWords({ platforms }: RecordIndex): PlatformWords {
  const byName = new Map<string, Set<number>>();
  const add = (name: string, number: number) => {
    const key = keyOf(name);
    if (key === '') return;
    byName.set(key, (byName.get(key) ?? new Set()).add(number));
  };
  const named = PLATFORM_NAMES.flatMap((group) =>
    group.map((name) => ({ key: keyOf(name), group })),
  );
  const groupsOf = Map.groupBy(named, ({ key }) => key);
  for (const [number, { slug, name }] of platforms.entries()) {
    for (const own of [slug, name, ...name.replace(QUALIFIER, '').split(NAME_SEPARATOR)]) {
      add(own, number);
      for (const { group } of groupsOf.get(keyOf(own)) ?? []) {
        for (const other of group) add(other, number);
      }
    }
  }

  return {
    isName: (word) => byName.has(word),
    runsIn(words) {
      const runs: PlatformRun[] = [];
      for (let length = words.length; length > 0; length--) {
        for (let from = words.length - length; from >= 0; from--) {
          const named = byName.get(words.slice(from, from + length).join(''));
          if (named === undefined) continue;
          runs.push({ platforms: [...named], rest: words.toSpliced(from, length) });
        }
      }
      return runs;
    },
  };
}

/** A name without spaces and punctuation, so that "Mega Drive" and "megadrive" are the same. */
function keyOf(name: string): string {
  return plainWordsOf(name).join('');
}
