/**
 * Finds the platforms that a name means: values of the parameter `platform`, and words of `q`. The names are
 * those of the catalogue and of the table. A name that means several platforms means all of them; none
 * means a platform that is only similar.
 */

import type { Postings } from '../../lib/columns/postings.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { foldCase } from '../text/words.ts';
import { numbersWithId } from './external-ids.ts';
import { platformKey, platformKeys, withoutQualifier } from './platform-keys.ts';
import { PLATFORM_ROWS } from './platform-table.ts';

export interface PlatformRun {
  /** The numbers of the platforms that the words name. */
  readonly platforms: readonly number[];
  /** The other words of the query. */
  readonly rest: readonly string[];
  /** Whether the query begins or ends with the words. */
  readonly isAtEnd: boolean;
}

export interface PlatformNames {
  /** The numbers of the platforms that a slug, an id of another source or a name means: at most 8 for a name. */
  find(text: string): readonly number[];
  /** The slugs of the platforms with the most similar names, the best first. */
  nearest(text: string): readonly string[];
  /** For each platform, the names that mean it, sorted. */
  aliases(): readonly (readonly string[])[];
  /** Whether a word by itself names a platform. */
  isName(word: string): boolean;
  /** The runs of neighbouring words that name platforms: longer ones first, then later ones first. */
  runsIn(words: readonly string[]): PlatformRun[];
}

/** So many platforms can a request name, and can one name mean. */
export const MOST_PLATFORMS = 8;
const MOST_NEAREST = 3;
/** In characters, of a name that is compared with all others. */
const LONGEST_COMPARED = 40;
/** What separates the names of one platform, as in "Mega Drive / Genesis", but not in "Plus/4". */
const NAME_SEPARATOR = /\s[-–|]\s|\/(?=\s*\d*\p{L})/u;
const MAKERS = PLATFORM_ROWS.flatMap(({ maker }) => (maker === '' ? [] : maker));
/** As in "Nintendo - Game Boy". */
const MAKER = new RegExp(`^(?:${[...new Set(MAKERS)].join('|')}) [-–] `);

interface KeyedName {
  readonly name: string;
  readonly key: string;
}

const ROWS = PLATFORM_ROWS.map(({ names, others }) => ({
  names: names.map(withKey),
  others: others.map(withKey),
}));

/** A platform of the catalogue. Its number is its index. */
interface NamedPlatform {
  readonly slug: string;
  readonly name: string;
}

/** @param ids the ids that other sources have given to platforms, with their numbers */
export function makePlatformNames(
  platforms: readonly NamedPlatform[],
  ids?: Postings,
): PlatformNames {
  const bySlug = Map.groupBy(platforms.keys(), (number) => foldCase(platforms[number].slug));
  const own = platforms.map(({ slug, name }) => {
    const short = withoutQualifier(name);
    return [...short.replace(MAKER, '').split(NAME_SEPARATOR), short, name, slug].map(withKey);
  });
  const owners = Map.groupBy(
    own.flatMap((names, number) => names.map(({ key }) => ({ key, number }))),
    ({ key }) => key,
  );
  /** For each key, the first of its spellings, and the numbers of the platforms. */
  const byKey = new Map<string, { readonly name: string; readonly numbers: Set<number> }>();
  const add = (number: number, names: readonly KeyedName[]) => {
    for (const { name, key } of names) {
      if (key === '') continue;
      getOrAdd(byKey, key, () => ({ name, numbers: new Set() })).numbers.add(number);
    }
  };
  for (const { names, others } of ROWS) {
    for (const { key } of [...names, ...others]) {
      for (const { number } of owners.get(key) ?? []) add(number, names);
    }
  }
  for (const [number, names] of own.entries()) add(number, names);

  const named = (key: string): readonly number[] | undefined => {
    const numbers = byKey.get(key)?.numbers;
    return numbers && [...numbers].slice(0, MOST_PLATFORMS);
  };

  return {
    find(text) {
      const withSlug = bySlug.get(foldCase(text));
      if (withSlug !== undefined) return withSlug;
      const withId = ids === undefined ? [] : numbersWithId(ids, text);
      if (withId.length > 0) return withId;
      return platformKeys(text).map(named).find(Boolean) ?? [];
    },
    nearest(text) {
      const wanted = pairsOf(platformKey(text.slice(0, LONGEST_COMPARED)));
      const scores = new Map<number, number>();
      for (const [key, { numbers }] of byKey) {
        const pairs = pairsOf(key);
        const both = wanted.intersection(pairs).size;
        const score = (2 * both) / (wanted.size + pairs.size);
        for (const number of numbers) scores.set(number, Math.max(score, scores.get(number) ?? 0));
      }
      return [...scores]
        .sort(([, a], [, b]) => b - a)
        .slice(0, MOST_NEAREST)
        .map(([number]) => platforms[number].slug);
    },
    aliases() {
      const found = platforms.map((): string[] => []);
      for (const { name, numbers } of byKey.values()) {
        // A slug means only its own platform.
        const meant = bySlug.get(foldCase(name)) ?? numbers;
        for (const number of meant) found[number].push(name);
      }
      return found.map((names) => names.sort());
    },
    isName: (word) => byKey.has(word),
    runsIn(words) {
      const runs: PlatformRun[] = [];
      for (let length = words.length; length > 0; length--) {
        for (let from = words.length - length; from >= 0; from--) {
          const run = words.slice(from, from + length);
          const platforms = bySlug.get(run.join('-')) ?? named(run.join(''));
          if (platforms === undefined) continue;
          const isAtEnd = from === 0 || from + length === words.length;
          runs.push({ platforms, rest: words.toSpliced(from, length), isAtEnd });
        }
      }
      return runs;
    },
  };
}

function withKey(name: string): KeyedName {
  return { name: name.trim(), key: platformKey(name) };
}

/** The pairs of neighbouring characters of a key. */
function pairsOf(key: string): Set<string> {
  const text = ` ${key}`;
  return new Set(Array.from(text, (_, at) => text.slice(at, at + 2)));
}
