/**
 * Whether words of a query match a title, and how well. The words are cut, in every possible way, into
 * groups of one to three neighbouring words. They match if, for some cut, every group does.
 */
import { equalPrefixes, equalWords, isNumeral, isScriptWithoutSpaces } from './text.ts';

/** Words under which a title is found. */
export interface TitleVariant {
  readonly words: readonly string[];
  /** Those of the title as it is shown. */
  readonly shown: readonly string[];
  /** Whether they are another title. */
  readonly isOther: boolean;
  /** Whether they are the words of the slug, which nobody sees as a title. */
  readonly isSlug: boolean;
  /** At index i, every way to write the words i and i + 1 together. */
  readonly pairs: readonly ReadonlySet<string>[];
  /** At index i, every way to write the words i, i + 1 and i + 2 together. */
  readonly triples: readonly ReadonlySet<string>[];
}

/** Neighbouring words of a query, and what they match in a title. */
interface Group {
  readonly size: number;
  /** One word that is one of these. */
  readonly equal: ReadonlySet<string>;
  /** Or one word that begins with one of these, if the last word of the query is in the group. */
  readonly prefixes: readonly string[];
  /** Or one word that contains this. */
  readonly part: string | undefined;
  /** Or two or three neighbouring words that, written together, are this. */
  readonly together: string | undefined;
}

/** Words of a query: at index i, the groups that begin with word i. */
export type QueryVariant = readonly (readonly Group[])[];

/** How well a title matches: 0 is best. */
export type Tier = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

export function readTitle(
  words: readonly string[],
  shown: readonly string[],
  kind: 'shown' | 'other' | 'slug',
): TitleVariant {
  const together = (size: number) =>
    words.slice(0, Math.max(0, words.length - size + 1)).map((_, i) => {
      return writtenTogether(words.slice(i, i + size), equalInTitle);
    });
  const isOther = kind === 'other' && words.join('') !== shown.join('');
  return {
    words,
    shown,
    isOther,
    isSlug: kind === 'slug',
    pairs: together(2),
    triples: together(3),
  };
}

/** @param nearSpellings the words that may stand for a word of the query because they are near it */
export function readQuery(
  words: readonly string[],
  nearSpellings: (word: string, isLast: boolean) => Iterable<string>,
): QueryVariant {
  return words.map((word, start) => {
    const single = {
      size: 1,
      equal: new Set([
        ...equalWords(word, words.length > 1),
        ...nearSpellings(word, start + 1 === words.length),
      ]),
      prefixes: start + 1 === words.length ? equalPrefixes(word) : [],
      part: partOf(word),
      together: isNumeral(word) ? undefined : word,
    };
    const longer = [2, 3]
      .filter((size) => start + size <= words.length)
      .map((size) => {
        const group = words.slice(start, start + size);
        return {
          size,
          equal: writtenTogether(group),
          prefixes:
            start + size === words.length && !isNumeral(group.join('')) ? [group.join('')] : [],
          part: undefined,
          together: undefined,
        };
      });
    return [single, ...longer];
  });
}

/** The words of a query that a word of a title stands for: a 1 may be shown as "I", but not the other way round. */
function equalInTitle(word: string, isBesideTitle?: boolean): readonly string[] {
  const equal = equalWords(word, isBesideTitle);
  if (word === 'i') return [...equal, '1'];
  return word === '1' ? equal.filter((other) => other !== 'i') : equal;
}

/** Every way to write words together: an equal word of each, in order. None is a numeral. */
function writtenTogether(words: readonly string[], equal = equalWords): Set<string> {
  let starts = [''];
  for (const [at, word] of words.entries()) {
    starts = starts.flatMap((start) => equal(word, at > 0).map((one) => start + one));
  }
  return new Set(starts.filter((text) => !isNumeral(text)));
}

/** What a word of a title must contain, if the word is in a script without spaces and long enough. */
function partOf(word: string): string | undefined {
  const characters = [...word];
  if (!isScriptWithoutSpaces(word) || characters.length < 2) return undefined;
  return characters.slice(0, 100).join('');
}

/** The best tier that applies; undefined if the title does not match. */
export function tierOf(query: QueryVariant, title: TitleVariant): Tier | undefined {
  if (!matches(query, title, true)) return undefined;
  if (title.isSlug) return matches(query, title, false) ? 5 : 7;
  if (matchesAt(query, 0, title, 0, { begins: false, toTheEnd: true })) return 0;
  const whole = { begins: false, toTheEnd: false };
  if (matchesAt(query, 0, title, 0, whole)) return 1;
  if (matchesAt(query, 0, title, 0, { begins: true, toTheEnd: false })) return 2;
  if (title.words.some((_, position) => matchesAt(query, 0, title, position, whole))) return 3;
  return matches(query, title, false) ? 4 : 6;
}

/** How many words the title has, as it is shown, besides those that the query has. It must match. */
export function additionalWords(query: QueryVariant, title: TitleVariant): number {
  const { words, shown, isOther } = title;
  if (isOther) {
    const isShown = ([group]: readonly Group[]) => shown.some((word) => isInWord(group, word));
    return shown.length - query.filter(isShown).length;
  }
  const most = mostMatched(query, title, 0);
  // Initials are shown as words of their own, too.
  const isLonger = words.length > shown.length && words.join('') === shown.join('');
  return (isLonger ? words : shown).length - most;
}

function mostMatched(query: QueryVariant, title: TitleVariant, start: number): number {
  if (start === query.length) return 0;
  const most = query[start].map((group) => {
    const rest = mostMatched(query, title, start + group.size);
    const { together } = group;
    const sizes: [number, boolean][] = [
      [1, title.words.some((word) => isInWord(group, word))],
      [2, together !== undefined && title.pairs.some((ways) => ways.has(together))],
      [3, together !== undefined && title.triples.some((ways) => ways.has(together))],
    ];
    return rest + Math.max(...sizes.map(([size, has]) => (has ? size : Number.NEGATIVE_INFINITY)));
  });
  return Math.max(...most);
}

/** Whether the words match anywhere. @param begins whether a word may match a prefix of another */
export function matches(
  query: QueryVariant,
  title: TitleVariant,
  begins: boolean,
  start = 0,
): boolean {
  if (start === query.length) return true;
  return query[start].some(
    (group) =>
      groupMatches(group, title, begins) && matches(query, title, begins, start + group.size),
  );
}

function groupMatches(group: Group, title: TitleVariant, begins: boolean): boolean {
  const { part, together } = group;
  return (
    title.words.some((word) => isOneWord(group, word, begins)) ||
    (part !== undefined && title.words.some((word) => word.includes(part))) ||
    (together !== undefined &&
      (title.pairs.some((ways) => ways.has(together)) ||
        title.triples.some((ways) => ways.has(together))))
  );
}

/** Whether a word of a title matches, perhaps with a part of it. */
function isInWord(group: Group, word: string): boolean {
  const { part } = group;
  return isOneWord(group, word, true) || (part !== undefined && word.includes(part));
}

function isOneWord({ equal, prefixes }: Group, word: string, begins: boolean): boolean {
  return equal.has(word) || (begins && prefixes.some((text) => word.startsWith(text)));
}

/** Whether the words from `start` match the words of the title from `position`, one after another. */
function matchesAt(
  query: QueryVariant,
  start: number,
  title: TitleVariant,
  position: number,
  rules: { readonly begins: boolean; readonly toTheEnd: boolean },
): boolean {
  if (start === query.length) return !rules.toTheEnd || position === title.words.length;
  if (position >= title.words.length) return false;
  return query[start].some((group) => {
    const goesOn = (words: number) =>
      matchesAt(query, start + group.size, title, position + words, rules);
    const { together } = group;
    return (
      (isOneWord(group, title.words[position], rules.begins) && goesOn(1)) ||
      (together !== undefined &&
        ((title.pairs[position]?.has(together) === true && goesOn(2)) ||
          (title.triples[position]?.has(together) === true && goesOn(3))))
    );
  });
}
