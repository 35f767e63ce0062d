/**
 * Finds the games of a query: what is tried, in which order, until something finds a game. Of the
 * filters, only the platform matters here.
 */
import { editDistance } from '#test/find/text/edit-distance.ts';
import type { ReferenceGame } from './games.ts';
import {
  additionalWords,
  matches,
  type QueryVariant,
  readQuery,
  type TitleVariant,
  tierOf,
} from './match.ts';
import { equalPrefixes, isNumeral, plainWordsOf, queryVariantsOf, wordsOf } from './text.ts';

/** Games, in title order, with the words under which they are found. */
export type Variants = ReadonlyMap<ReferenceGame, readonly TitleVariant[]>;

/**
 * The names of a platform, its slug included, in any case. Platforms can share a name. It does not matter
 * how a name is divided into words.
 */
export interface NamedPlatform {
  readonly slug: string;
  readonly names: readonly string[];
}

export type Step = 'exact' | 'near' | 'platform' | 'partial';
/** The games found, with their tiers: undefined if all words of the query name a platform. */
export type Tiers = ReadonlyMap<ReferenceGame, Place | undefined>;

export interface Place {
  /** Those of near spellings beside exact matches come after the others. */
  readonly tier: number;
  readonly additional: number;
}

export interface Found {
  readonly step?: Step;
  readonly tiers: Tiers;
}

/** Makes the function that finds the games of `q`, on one platform if its slug is given, in lower case. */
export function makeFind(
  allVariants: Variants,
  platforms: readonly NamedPlatform[],
): (q: string, platform?: string) => Found {
  const slugsOfName = groupByName(platforms);
  const nearSpellings = makeNearSpellings(allVariants);
  const exactly = (words: readonly string[]) => readQuery(words, () => []);
  const nearly = (words: readonly string[]) =>
    readQuery(words, (word) => (slugsOfName.has(word) ? [] : nearSpellings(word)));
  const variantsWith = makeVariantCounts(allVariants);
  const nearlyAtEnd = (words: readonly string[]) =>
    readQuery(words, (word, isLast) => {
      if (!isLast || slugsOfName.has(word)) return [];
      const begun = variantsWith((other) =>
        equalPrefixes(word).some((text) => other.startsWith(text)),
      );
      return nearSpellings(word).filter((near) => variantsWith((one) => one === near) > 10 * begun);
    });
  return (q, platform) => {
    const variants =
      platform === undefined
        ? allVariants
        : new Map([...allVariants].filter(([game]) => game.platform.toLowerCase() === platform));
    const queries = queryVariantsOf(q);
    const withoutOneWord = queries
      .filter((words) => words.length >= 2)
      .flatMap((words) => words.map((_, i) => words.toSpliced(i, 1)));
    const steps: readonly [Step, () => Tiers][] = [
      ['near', () => besideBeginnings(variants, queries, exactly, nearlyAtEnd)],
      ['platform', () => besidePlatform(variants, queries, exactly, slugsOfName)],
      ['exact', () => tiersOf(variants, queries.map(exactly))],
      ['near', () => tiersOf(variants, queries.map(nearly))],
      ['platform', () => findOnPlatform(variants, queries, exactly, slugsOfName)],
      ['platform', () => findOnPlatform(variants, queries, nearly, slugsOfName)],
      ['partial', () => tiersOf(variants, withoutOneWord.map(exactly))],
    ];
    for (const [step, find] of steps) {
      const tiers = find();
      if (tiers.size > 0) return { step, tiers };
    }
    return { tiers: new Map() };
  };
}

/** Leaves out empty lists of words, and those that repeat an earlier one. */
export function distinct(lists: readonly string[][]): string[][] {
  const byText = new Map(lists.map((words) => [words.join(' '), words]));
  return [...byText.values()].filter((words) => words.length > 0);
}

/**
 * If the last word is only a prefix of words, and a near spelling of words that far more titles have: both.
 * @returns none otherwise
 */
function besideBeginnings(
  variants: Variants,
  queries: readonly (readonly string[])[],
  exactly: (words: readonly string[]) => QueryVariant,
  nearlyAtEnd: (words: readonly string[]) => QueryVariant,
): Tiers {
  const exact = tiersOf(variants, queries.map(exactly));
  const titles = [...variants.values()].flat();
  const isOnlyPrefix = (words: readonly string[]) => {
    const query = exactly(words);
    const matching = titles.filter((title) => matches(query, title, true));
    if (matching.length === 0) return true;
    return matching.every((title) => !matches(query, title, false));
  };
  if (exact.size === 0 || !queries.every(isOnlyPrefix)) return new Map();
  const near = tiersOf(variants, queries.map(nearlyAtEnd));
  const both = new Set([...near.keys(), ...exact.keys()]);
  if (both.size - exact.size < 10 * exact.size) return new Map();
  const after = Array.from(near, ([game, { tier, additional }]): [ReferenceGame, Place] => {
    return [game, exact.get(game) ?? { tier: tier + 8, additional }];
  });
  return new Map(after);
}

/** The best place of each game that matches one of the queries. */
function tiersOf(variants: Variants, queries: readonly QueryVariant[]): Map<ReferenceGame, Place> {
  const best = new Map<ReferenceGame, Place>();
  for (const [game, titles] of variants) {
    for (const title of titles) {
      for (const query of queries) {
        const tier = tierOf(query, title);
        const known = best.get(game);
        if (tier === undefined || (known !== undefined && tier > known.tier)) continue;
        const additional = additionalWords(query, title);
        if (known?.tier === tier && known.additional <= additional) continue;
        best.set(game, { tier, additional });
      }
    }
  }
  return best;
}

/**
 * If words at an end name a platform with games whose titles equal the others or begin so: these and the exact
 * matches; without exact ones, all games of the platform that the others find.
 * @returns none if there are no such games
 */
function besidePlatform(
  variants: Variants,
  queries: readonly (readonly string[])[],
  exactly: (words: readonly string[]) => QueryVariant,
  slugsOfName: ReadonlyMap<string, ReadonlySet<string>>,
): Tiers {
  for (const words of queries) {
    for (const { slugs, others, isAtEnd } of platformRuns(words, slugsOfName)) {
      if (!isAtEnd || others.length === 0) continue;
      const isBefore = others.length > 1 && /^(?:on|for)$/.test(others.at(-1) ?? '');
      const query = exactly(isBefore ? others.slice(0, -1) : others);
      const onPlatform = new Map([...variants].filter(([game]) => slugs.has(game.platform)));
      const ofPlatform = tiersOf(onPlatform, [query]);
      const begun = [...ofPlatform].filter(([, { tier }]) => tier <= 2);
      if (begun.length === 0) continue;
      const found = tiersOf(variants, queries.map(exactly));
      if (found.size === 0) return ofPlatform;
      for (const [game, { tier, additional }] of begun) {
        const place = { tier: tier === 0 ? 0.5 : tier + 8, additional };
        if ((found.get(game)?.tier ?? 99) > place.tier) found.set(game, place);
      }
      return found;
    }
  }
  return new Map();
}

/** The runs of words that name platforms: longer ones first, then later ones. */
function* platformRuns(
  words: readonly string[],
  slugsOfName: ReadonlyMap<string, ReadonlySet<string>>,
) {
  for (let size = words.length; size >= 1; size--) {
    for (let start = words.length - size; start >= 0; start--) {
      const slugs = slugsOfName.get(words.slice(start, start + size).join(''));
      const isAtEnd = start === 0 || start + size === words.length;
      if (slugs !== undefined) yield { slugs, others: words.toSpliced(start, size), isAtEnd };
    }
  }
}

/** Takes the longest run of words that names platforms on which the other words find a game. */
function findOnPlatform(
  variants: Variants,
  queries: readonly (readonly string[])[],
  read: (words: readonly string[]) => QueryVariant,
  slugsOfName: ReadonlyMap<string, ReadonlySet<string>>,
): Tiers {
  for (const words of queries) {
    for (const { slugs, others } of platformRuns(words, slugsOfName)) {
      const onPlatform = new Map([...variants].filter(([game]) => slugs.has(game.platform)));
      const tiers: Tiers =
        others.length === 0
          ? new Map([...onPlatform.keys()].map((game) => [game, undefined]))
          : tiersOf(onPlatform, [read(others)]);
      if (tiers.size > 0) return tiers;
    }
  }
  return new Map();
}

function groupByName(platforms: readonly NamedPlatform[]): Map<string, Set<string>> {
  const slugsOfName = new Map<string, Set<string>>();
  for (const { slug, names } of platforms) {
    for (const words of names.flatMap((name) => [wordsOf(name), plainWordsOf(name)])) {
      const name = words.join('');
      slugsOfName.set(name, (slugsOfName.get(name) ?? new Set()).add(slug));
    }
  }
  return slugsOfName;
}

/** Compares every word of the titles with a word of a query. That is slow, so it keeps the result. */
function makeNearSpellings(variants: Variants): (word: string) => readonly string[] {
  const titles = [...variants.values()].flat();
  const vocabulary = [...new Set(titles.flatMap(({ words }) => words))];
  const known = new Map<string, string[]>();
  return (word) => {
    const near = known.get(word) ?? vocabulary.filter((other) => isNearSpelling(other, word));
    known.set(word, near);
    return near;
  };
}

/** How many variants have words for which a test holds; one counts again for each further word. */
function makeVariantCounts(variants: Variants): (test: (word: string) => boolean) => number {
  const counts = new Map<string, number>();
  for (const { words } of [...variants.values()].flat()) {
    for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return (test) => [...counts].reduce((sum, [word, count]) => (test(word) ? sum + count : sum), 0);
}

/** Whether a word of a title is near enough to a word of a query to be what was meant. */
function isNearSpelling(titleWord: string, queryWord: string): boolean {
  const letters = [...queryWord].length;
  if (letters < 4 || /^\p{N}+$/u.test(queryWord)) return false;
  if (isNumeral(queryWord) || isNumeral(titleWord)) return false;
  if (digitsOf(titleWord) !== digitsOf(queryWord)) return false;
  const most = letters < 8 ? 1 : 2;
  // Only to be faster: every letter more or less is an edit.
  if (Math.abs([...titleWord].length - letters) > most) return false;
  return editDistance(titleWord, queryWord) <= most;
}

function digitsOf(word: string): string {
  return (word.match(/\p{N}/gu) ?? []).join('');
}
