/**
 * Finds the games whose title shares a part with that of a name: one of them lacks a subtitle, or what
 * precedes it, or their subtitles differ.
 */

import type { GameNumber } from '../../lib/columns/numbers.ts';
import { numbersIn, overlap, type TitlesOfPlatforms, withKeys, withLoose } from './catalogue.ts';
import { SHORTEST_SPELLING } from './find-near.ts';
import type { LooseForms, TitleParts } from './forms.ts';
import { hashForm } from './open.ts';

type Title = LooseForms & TitleParts;

/** What two titles have in common, from the surest to nothing. */
const SURE = 0;
/** The name adds a subtitle to a title with a number. */
const NUMBER = 1;
/** The name lacks a subtitle. */
const HEAD = 2;
const PART = 3;
/** They have a subtitle that only one game has. */
const SUBTITLE = 4;
/** They have other subtitles. */
const OTHER = 5;
const NOTHING = 6;

/** Of the games that a title finds, how many are compared. */
const MOST_GAMES = 24;
/** Shorter parts, such as "The Game", do not tell games apart. */
const SHORTEST_PART = 8;

/**
 * @param titles those that the name may mean
 * @param isGuess whether the name says more than they do
 * @returns all games, the likeliest first; and the first if it is the only one that the name can mean. Once
 * the budget is spent, some may be missing
 */
export function findParts(
  catalogue: TitlesOfPlatforms,
  titles: readonly Title[],
  isGuess = false,
): { readonly games: readonly GameNumber[]; readonly sure: GameNumber | undefined } {
  const { budget, looseOf, partsOf } = catalogue;
  const found = new Map<GameNumber, number>();
  for (const one of titles) {
    const gamesWith = (parts: readonly string[]) =>
      withKeys(catalogue, 'parts', parts.map(hashForm));
    const subtitles = one.tails.filter(isLong);
    const ofOneGame = subtitles.filter((tail) => gamesWith([tail]).length === 1);
    const titles = subtitles.filter(
      (tail) => new Set([...withLoose(catalogue, [tail]), ...gamesWith([tail])]).size === 1,
    );
    const games = new Set([
      ...withLoose(catalogue, [...titles, ...one.heads]),
      ...gamesWith([...one.loose, ...one.tails, ...one.heads]),
    ]);
    for (const game of [...games].slice(0, MOST_GAMES)) {
      const parts = partsOf(game);
      if (!budget.spend(parts.length)) return { games: [], sure: undefined };
      const common = looseOf(game).map((forms, at) =>
        commonOf(one, { ...forms, ...parts[at] }, ofOneGame, titles),
      );
      found.set(game, Math.min(found.get(game) ?? NOTHING, ...common));
    }
  }
  const ranked = [...found]
    .filter(([, common]) => common < NOTHING)
    .sort(([game, common], [other, ofOther]) => common - ofOther || game - other);
  const games = ranked.map(([game]) => game);
  const [[first, common] = [undefined, NOTHING], ...others] = ranked;
  const isKnown = () => isGuess || isAnywhere(catalogue, titles);
  if (others.length === 0 && (common === NUMBER || (common === HEAD && !isKnown())))
    return { games, sure: first };
  // Parts of a game, such as its downloads, have its title before their own.
  const likely = ranked.filter(([, of]) => of < SUBTITLE);
  const isPartOf = (part: GameNumber, whole: GameNumber) =>
    budget.spend(1) &&
    partsOf(part).some(({ heads }) => looseOf(whole).some(({ loose }) => overlap(loose, heads)));
  const whole = likely.find(([game]) =>
    likely.every(([other, of]) => of === SURE && (other === game || isPartOf(other, game))),
  );
  return { games, sure: whole?.[0] };
}

/** Whether a game of any platform has one of the titles, so that another game may be meant. */
function isAnywhere(catalogue: TitlesOfPlatforms, titles: readonly Title[]): boolean {
  const platforms = [...catalogue.index.loose.start.keys()].slice(0, -1);
  const loose = titles.flatMap((title) => title.loose);
  return withLoose({ ...catalogue, platforms }, loose).some((game) => {
    const forms = catalogue.budget.isSpent ? [] : catalogue.looseOf(game);
    return catalogue.budget.spend(forms.length) && forms.some((of) => overlap(of.loose, loose));
  });
}

/**
 * A number makes a title that of one game.
 * @param subtitles those that only one game has
 */
function commonOf(
  one: Title,
  other: Title,
  subtitles: readonly string[],
  titles: readonly string[],
): number {
  const isWhole =
    overlap(one.loose.filter(endsWithNumber), other.heads) ||
    // A volume is one game of its series, whatever its subtitle.
    one.heads.some((head) => /vol\d+$/.test(head) && other.heads.includes(head)) ||
    (one.lists[0]?.length > 1 && overlap(one.loose.filter(isLong), other.tails));
  if (isWhole || haveSameSubtitle(one, other, subtitles)) return SURE;
  if (overlap(one.heads.filter(hasNumber), other.loose)) return NUMBER;
  if (overlap(one.loose, other.heads)) return isTelling(one) ? HEAD : PART;
  if (overlap(one.heads, other.loose)) return PART;
  if (overlap(titles, [...other.loose, ...other.tails])) return SUBTITLE;
  return overlap(one.heads, other.heads) ? OTHER : NOTHING;
}

/** Whether two titles have the same subtitle, and before it the same numbers and a word in common. */
function haveSameSubtitle(one: Title, other: Title, subtitles: readonly string[]): boolean {
  const subtitle = subtitles.find((tail) => other.tails.includes(tail));
  if (subtitle === undefined) return false;
  const [[words = []], [others = []]] = [one.lists, other.lists];
  const common = words.filter((word) => others.includes(word)).join('');
  return (
    common.length >= subtitle.length + SHORTEST_SPELLING &&
    numbersIn(words.join(' ')) === numbersIn(others.join(' '))
  );
}

/** Whether a title has several words, and no number that sets it apart from another of its series. */
function isTelling({ lists, loose: [form] }: Title): boolean {
  return lists[0].length > 1 && isLong(form) && !/\d/.test(form);
}

function isLong(form: string): boolean {
  return form.length >= SHORTEST_PART;
}

/** A number alone is no title. */
function hasNumber(form: string): boolean {
  return /\d/.test(form) && /\D{2}/.test(form);
}

/** Whether a number closes a title, or opens it: what follows "Sonic 3 & Knuckles" makes another game of it. */
function endsWithNumber(form: string): boolean {
  return hasNumber(form) && /^\d|\d[a-z]{0,2}$/.test(form);
}
