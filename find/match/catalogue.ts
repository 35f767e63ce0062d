/**
 * The games of some platforms, as the ways to match look them up for one name. What is made of a title is made
 * once. Look-ups and what is made of the name are counted here; who compares titles counts them. What is found once
 * the budget is spent may be incomplete.
 */

import type { GameNumber } from '../../lib/columns/numbers.ts';
import { remember } from '../../lib/program/remember.ts';
import { type Budget, COST } from './budget.ts';
import { looseForm, looseFormsOf, partsOf } from './forms.ts';
import { type FORM_LISTS, type FormList, findKeys, looseKey, type MatchIndex } from './open.ts';

/** By what a game is known. */
export interface GameTitles {
  /** Its title, then the alternative ones. */
  titles(game: GameNumber): readonly string[];
  slug(game: GameNumber): string;
}

/** A loose form, ready to be compared letter by letter. */
export interface Spelling {
  readonly words: readonly string[];
  /** The numbers in it. */
  readonly numbers: string;
  /** Its code units. */
  readonly codes: readonly number[];
}

/** The forms of the titles of some platforms. */
interface PlatformForms {
  readonly index: MatchIndex;
  /** Their numbers. */
  readonly platforms: readonly number[];
  readonly budget: Budget;
}

export function makeCatalogue(forms: PlatformForms, { titles, slug }: GameTitles) {
  const looseOf = remember((game: GameNumber) =>
    titles(game).map((title, at) => looseFormsOf(title, at === 0 ? () => slug(game) : undefined)),
  );
  const wantedBy = remember((title: string) => {
    const wanted = looseFormsOf(title);
    const letters = wanted.loose.reduce((sum, { length }) => sum + length, 0);
    forms.budget.spend(1 + letters * COST.formLetter);
    return wanted;
  });
  return {
    ...forms,
    titlesOf: titles,
    /** The loose forms of each title of a game. */
    looseOf,
    /** The parts of each. */
    partsOf: remember((game: GameNumber) => titles(game).map((title) => partsOf(title))),
    /** How each may be spelt. */
    spellingsOf: remember((game: GameNumber) =>
      looseOf(game).flatMap(({ lists }) => lists.map((list) => spellingOf(looseForm(list), list))),
    ),
    /** The loose forms of a title of the name. */
    wantedBy,
    /** The games that may have one of them. */
    gamesLike: remember((title: string) => withLoose(forms, wantedBy(title).loose)),
  };
}

export type TitlesOfPlatforms = Readonly<ReturnType<typeof makeCatalogue>>;

export function spellingOf(form: string, words: readonly string[]): Spelling {
  const codes = Array.from({ length: form.length }, (_, at) => form.charCodeAt(at));
  return { words, numbers: numbersIn(form), codes };
}

export function numbersIn(text: string): string {
  return (text.match(/\d+/g) ?? []).join('.');
}

/** The games that may have one of some loose forms, each once. */
export function withLoose(catalogue: PlatformForms, forms: readonly string[]): GameNumber[] {
  return withKeys(catalogue, 'loose', forms.map(looseKey));
}

/** The games with an entry for one of the keys, each once. */
export function withKeys(
  { index, platforms, budget }: PlatformForms,
  name: (typeof FORM_LISTS)[number],
  keys: readonly number[],
): GameNumber[] {
  const list: FormList = index[name];
  const games = new Set<GameNumber>();
  for (const platform of platforms)
    for (const key of keys) {
      const [from, to] = findKeys(list, platform, key, key + 1);
      if (!budget.spend(COST.lookUp + (to - from) * COST.entry)) return [];
      for (let at = from; at < to; at++) games.add(list.game[at]);
    }
  return [...games];
}

export function overlap(one: readonly string[], other: readonly string[]): boolean {
  return one.some((form) => other.includes(form));
}
