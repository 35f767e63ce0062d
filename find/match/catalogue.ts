/**
 * The games of some platforms, as the ways to match look them up for one name. What is made of a title is made
 * once. Look-ups and what is made of the name are counted here; who compares titles counts them. What is found once
 * the budget is spent may be incomplete.
 */

import type { GameNumber } from '../../lib/columns/numbers.ts';
import { remember } from '../../lib/program/remember.ts';
import { type Budget, COST } from './budget.ts';
import { type LooseForms, looseForm, looseFormsOf, partsOf, type TitleParts } from './forms.ts';
import { type FORM_LISTS, type FormList, findKeys, looseKey, type MatchIndex } from './open.ts';

/** By what a game is known. */
export interface GameTitles {
  /** Its title, then the alternative ones. */
  titles(game: GameNumber): readonly string[];
  slug(game: GameNumber): string;
}

export interface TitlesOfPlatforms {
  readonly index: MatchIndex;
  /** The numbers of the platforms. */
  readonly platforms: readonly number[];
  readonly budget: Budget;
  /** The title of a game, then its alternative titles. */
  titlesOf(game: GameNumber): readonly string[];
  /** The loose forms of each. */
  looseOf(game: GameNumber): readonly LooseForms[];
  /** The parts of each. */
  partsOf(game: GameNumber): readonly TitleParts[];
  /** How each may be spelt. */
  spellingsOf(game: GameNumber): readonly Spelling[];
  /** The loose forms of a title of the name. */
  wantedBy(title: string): LooseForms;
  /** The games that may have one of them. */
  gamesLike(title: string): readonly GameNumber[];
}

/** A loose form, ready to be compared letter by letter. */
export interface Spelling {
  readonly words: readonly string[];
  /** The numbers in it. */
  readonly numbers: string;
  /** Its code units. */
  readonly codes: readonly number[];
}

export function makeCatalogue(
  index: MatchIndex,
  platforms: readonly number[],
  budget: Budget,
  { titles, slug }: GameTitles,
): TitlesOfPlatforms {
  const looseOf = remember((game: GameNumber) =>
    titles(game).map((title, at) => looseFormsOf(title, at === 0 ? () => slug(game) : undefined)),
  );
  const catalogue: TitlesOfPlatforms = {
    index,
    platforms,
    budget,
    titlesOf: titles,
    looseOf,
    partsOf: remember((game) => titles(game).map((title) => partsOf(title))),
    spellingsOf: remember((game) =>
      looseOf(game).flatMap(({ lists }) => lists.map((list) => spellingOf(looseForm(list), list))),
    ),
    wantedBy: remember((title) => {
      const forms = looseFormsOf(title);
      const letters = forms.loose.reduce((sum, { length }) => sum + length, 0);
      budget.spend(1 + letters * COST.formLetter);
      return forms;
    }),
    gamesLike: remember((title) => withLoose(catalogue, catalogue.wantedBy(title).loose)),
  };
  return catalogue;
}

export function spellingOf(form: string, words: readonly string[]): Spelling {
  const codes: number[] = [];
  for (let at = 0; at < form.length; at++) codes.push(form.charCodeAt(at));
  return { words, numbers: numbersIn(form), codes };
}

export function numbersIn(text: string): string {
  return (text.match(/\d+/g) ?? []).join('.');
}

/** The games that may have one of some loose forms, each once. */
export function withLoose(
  catalogue: Pick<TitlesOfPlatforms, 'index' | 'platforms' | 'budget'>,
  forms: readonly string[],
): GameNumber[] {
  return withKeys(catalogue, 'loose', forms.map(looseKey));
}

/** The games with an entry for one of the keys, each once. */
export function withKeys(
  { index, platforms, budget }: Pick<TitlesOfPlatforms, 'index' | 'platforms' | 'budget'>,
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
