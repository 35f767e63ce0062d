/**
 * Finds the games whose title has a part in common with that of a name: one of them lacks a subtitle, or what
 * stands in front of it, or their subtitles differ.
 */
import { type LooseForms, type Parts, partsOf } from '../../../lib/format/match/forms.ts';
import { hashForm } from '../../../lib/format/match/match-index.ts';
import { type Catalogue, overlap, withKeys, withLoose } from './catalogue.ts';
import { numbersIn, SHORTEST_SPELLING } from './find-near.ts';

type Title = LooseForms & Parts;

/** What two titles have in common, from the surest to nothing. */
const SURE = 0;
/** The name adds a subtitle to a title with a number. */
const NUMBER = 1;
const PART = 2;
/** They have a subtitle that only one game has. */
const SUBTITLE = 3;
/** They have other subtitles. */
const HEAD = 4;
const NOTHING = 5;

/** Of the games that a title finds, how many are compared. */
const MOST_GAMES = 24;
/** Shorter subtitles, such as "The Game", do not tell games apart. */
const SHORTEST_SUBTITLE = 8;

/**
 * @param titles those that the name may mean
 * @returns all games, the likeliest first; and the first if it is the only one that the name can mean
 */
export function findParts(
  catalogue: Catalogue,
  titles: readonly Title[],
): { readonly games: readonly number[]; readonly sure: number | undefined } {
  const { index, platforms, looseOf, titlesOf } = catalogue;
  const found = new Map<number, number>();
  for (const one of titles) {
    const gamesWith = (parts: readonly string[]) =>
      withKeys(index.parts, platforms, parts.map(hashForm));
    const subtitles = one.tails.filter((tail) => tail.length >= SHORTEST_SUBTITLE);
    const ofOneGame = subtitles.filter((tail) => gamesWith([tail]).length === 1);
    const titles = subtitles.filter(
      (tail) => new Set([...withLoose(catalogue, [tail]), ...gamesWith([tail])]).size === 1,
    );
    const games = new Set([
      ...withLoose(catalogue, [...titles, ...one.heads]),
      ...gamesWith([...one.loose, ...one.tails, ...one.heads]),
    ]);
    for (const game of [...games].slice(0, MOST_GAMES)) {
      const parts = titlesOf(game).map((title) => partsOf(title));
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
  const [first, second] = ranked.map(([, common]) => common);
  const isSure =
    (first === SURE && (second ?? HEAD) >= SUBTITLE) || (first === NUMBER && second === undefined);
  return { games, sure: isSure ? games[0] : undefined };
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
    (one.lists[0]?.length > 1 && overlap(one.loose, other.tails));
  if (isWhole || haveSameSubtitle(one, other, subtitles)) return SURE;
  if (overlap(one.heads.filter(hasNumber), other.loose)) return NUMBER;
  if (overlap(one.heads, other.loose) || overlap(one.loose, other.heads)) return PART;
  if (overlap(titles, [...other.loose, ...other.tails])) return SUBTITLE;
  return overlap(one.heads, other.heads) ? HEAD : NOTHING;
}

/** Whether two titles have the same subtitle, and in front of it the same numbers and a word in common. */
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

function hasNumber(form: string): boolean {
  return /\d/.test(form);
}

/** Whether a number closes a title, or opens it: what follows "Sonic 3 & Knuckles" makes another game of it. */
function endsWithNumber(form: string): boolean {
  return /^\d|\d[a-z]{0,2}$/.test(form);
}
