/** The games of some platforms, as the ways to match look them up. */
import type { LooseForms } from './forms.ts';
import { type FormList, findKeys, looseKey, type MatchIndex } from './open.ts';

export interface Catalogue {
  readonly index: MatchIndex;
  /** The numbers of the platforms. */
  readonly platforms: readonly number[];
  /** The title of a game, then its alternative titles. */
  titlesOf(game: number): readonly string[];
  /** The loose forms of each. */
  looseOf(game: number): readonly LooseForms[];
}

/** The games that may have one of some loose forms, each once. */
export function withLoose({ index, platforms }: Catalogue, forms: readonly string[]): number[] {
  return withKeys(index.loose, platforms, forms.map(looseKey));
}

/** The games with an entry for one of the keys, each once. */
export function withKeys(
  list: FormList,
  platforms: readonly number[],
  keys: readonly number[],
): number[] {
  const games = new Set<number>();
  for (const platform of platforms)
    for (const key of keys) {
      const [from, to] = findKeys(list, platform, key, key + 1);
      for (let at = from; at < to; at++) games.add(list.game[at]);
    }
  return [...games];
}

export function overlap(one: readonly string[], other: readonly string[]): boolean {
  return one.some((form) => other.includes(form));
}
