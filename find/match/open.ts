/**
 * The file of forms: for the forms of each title a hash, by which the games are found that a name may mean. What is
 * found is compared with the titles themselves, so that two forms with one hash never give a wrong answer.
 *
 * Each list has an entry for each form of each game. The entries of a platform come one after another, in
 * ascending order of their keys, then of their games.
 */
import { firstIndex } from '../../lib/columns/arrays.ts';
import { onesIn } from '../../lib/columns/bits.ts';
import { checkStarts, damaged } from '../../lib/columns/checks.ts';
import type { ColumnFile } from '../../lib/columns/container.ts';
import { type GameNumber, type Lookup, lookupOf } from '../../lib/columns/numbers.ts';
import { checkPostings, openPostings, type Postings } from '../../lib/columns/postings.ts';
import { MATCH_RULES } from './forms.ts';

/** Some forms of all games. */
export interface FormList {
  /** Where the entries of each platform start, and at the end how many there are. */
  readonly start: Uint32Array;
  readonly key: Uint32Array;
  readonly game: Lookup<number, GameNumber>;
}

export interface MatchIndex {
  /** The loose forms, by {@link looseKey}, so that those of about one length are neighbours. */
  readonly loose: FormList & {
    /** For each entry, its {@link lettersOf}. */
    readonly letters: Uint32Array;
  };
  /** The lists of several loose words, by {@link hashWords}. */
  readonly words: FormList;
  /** What stands before and after subtitles, by {@link hashForm}. */
  readonly parts: FormList;
  /** From the tables `game_ids` and `platform_ids`: each id with the numbers of its games or platforms. */
  readonly gameIds: Postings;
  readonly platformIds: Postings;
}

export const FORM_LISTS = ['loose', 'words', 'parts'] as const;
const LENGTH_SHIFT = 24;
const LONGEST = 255;
const LETTERS = 26;

/** FNV-1a over the code units of a form. */
export function hashForm(form: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < form.length; at++) hash = Math.imul(hash ^ form.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The sum of the hashes of some words, whose order does not matter. */
export function hashWords(words: readonly string[]): number {
  let sum = 0;
  for (const word of words) sum = (sum + hashForm(word)) >>> 0;
  return sum;
}

/** The length of a form, at most 255, in the upper 8 bits, and its hash in the others. */
export function looseKey(form: string): number {
  return (firstKeyOf(form.length) | (hashForm(form) >>> (32 - LENGTH_SHIFT))) >>> 0;
}

/** The lowest key of the forms of a length. */
export function firstKeyOf(length: number): number {
  return (Math.min(length, LONGEST) << LENGTH_SHIFT) >>> 0;
}

/**
 * What tells most forms apart that are not near each other. The lower 26 bits: for each of 26 groups of
 * letters, whether it has an odd number of them, so that a wrong letter changes at most two. The upper 6
 * bits: a hash of its digits, which must be equal.
 */
export function lettersOf(form: string): number {
  let letters = 0;
  let digits = 0;
  for (let at = 0; at < form.length; at++) {
    const code = form.charCodeAt(at);
    if (code < 0x3a) digits = Math.imul(digits + code, 0x9e3779b1);
    else letters ^= 1 << (code % LETTERS);
  }
  return (letters | ((digits >>> 26) << LETTERS)) >>> 0;
}

/**
 * How many letters must differ, at least, between forms with these {@link lettersOf}; Infinity if digits do.
 * A letter that is added or missing changes one group, a wrong one at most two.
 * @param lengths by how much the lengths of the forms differ
 */
export function fewestEdits(one: number, other: number, lengths: number): number {
  const difference = one ^ other;
  if (difference >>> LETTERS !== 0) return Number.POSITIVE_INFINITY;
  return Math.max(lengths, (onesIn(difference) + lengths + 1) >> 1);
}

/** The range of the entries of a platform with a key from `low` (inclusive) to `high` (exclusive). */
export function findKeys(
  { start, key }: FormList,
  platform: number,
  low: number,
  high: number,
): [from: number, to: number] {
  const end = start[platform + 1];
  const from = firstIndex(start[platform], end, (at) => key[at] >= low);
  return [from, firstIndex(from, end, (at) => key[at] >= high)];
}

/**
 * Opens the file of forms. {@link checkMatch} checks its values.
 * @param platforms how many platforms there are
 * @throws Error that names what is damaged, or says that the file was made by other rules
 */
export function openMatch({ name: file, column }: ColumnFile, platforms: number): MatchIndex {
  const [rules] = column('rules', 'u32', 1);
  if (rules !== MATCH_RULES) {
    throw new Error(
      `${file} has version ${rules} of the rules for titles; this program has version ${MATCH_RULES}. Generate again with this program.`,
    );
  }
  const [loose, words, parts] = FORM_LISTS.map((name): FormList => {
    const key = column(`${name}.key`, 'u32');
    const start = column(`${name}.start`, 'u32', platforms + 1);
    return { start, key, game: lookupOf(column(`${name}.game`, 'u32', key.length)) };
  });
  return {
    loose: { ...loose, letters: column('loose.letters', 'u32', loose.key.length) },
    words,
    parts,
    gameIds: openPostings(column, 'gameIds'),
    platformIds: openPostings(column, 'platformIds'),
  };
}

/**
 * Checks all values that a match relies on. The time grows linearly with the index.
 * @param file the name of the file
 * @throws Error that names the first fault
 */
export function checkMatch(
  index: MatchIndex,
  platforms: readonly PlatformRange[],
  file: string,
): void {
  const games = platforms.reduce((sum, platform) => sum + platform.games, 0);
  for (const name of FORM_LISTS) {
    const { start, key, game } = index[name];
    checkStarts(start, key.length, file, `${name}.start`);
    for (const [platform, { firstGame: first, games: count }] of platforms.entries())
      for (let at = start[platform]; at < start[platform + 1]; at++) {
        const isInOrder = at === start[platform] || key[at] >= key[at - 1];
        if (!isInOrder || game[at] < first || game[at] >= first + count)
          throw damaged(file, `entry ${at} of "${name}" is out of order or of another platform`);
      }
  }
  checkPostings(index.gameIds, games, file, 'gameIds');
  checkPostings(index.platformIds, platforms.length, file, 'platformIds');
}

/** What the check needs of each platform. */
interface PlatformRange {
  /** The number of its first game, and how many games it has. */
  readonly firstGame: number;
  readonly games: number;
}
