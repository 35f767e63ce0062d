/**
 * Finds the game that a file name means, among the games of some platforms. What the index finds by hashes is
 * compared with the titles themselves.
 *
 * Invariant: what was found by then counts only if the budget was not spent before all games were compared.
 */

import type { GameNumber } from '../../lib/columns/numbers.ts';
import { COST } from './budget.ts';
import { type GameTitles, overlap, type TitlesOfPlatforms, withKeys } from './catalogue.ts';
import { findNear } from './find-near.ts';
import { findParts } from './find-parts.ts';
import { exactFormsOf, haveSameWords, partsOf } from './forms.ts';
import { hashWords } from './open.ts';
import { hasTwoTitles, type NameReading } from './read-name.ts';

/** How sure it is that a name means a game, the surest first; `part` is never more than a candidate. */
type MatchKind = 'id' | 'exact' | 'same' | 'near' | 'part';

export interface MatchedGame {
  readonly kind: MatchKind;
  readonly game: GameNumber;
}

export interface Match {
  /** The game that the name means, if it is certain enough. */
  readonly found: MatchedGame | undefined;
  /** Other games that it may mean, the likeliest first, each once. */
  readonly candidates: readonly MatchedGame[];
}

/** What is known of games besides the index. */
export interface GameFacts extends GameTitles {
  /** Its developer and publisher, as far as they are known. */
  companies(game: GameNumber): readonly string[];
  releaseYear(game: GameNumber): number | null;
  /** How well the fronts of a game fit a file: 0 with one in its regions, 1 with another, 2 without. */
  frontRank(game: GameNumber): 0 | 1 | 2;
}

export const MOST_CANDIDATES = 3;

/** @param guess whether more was left out than the name says: then letters must be right, and perhaps the whole title */
export function* findMatches(
  catalogue: TitlesOfPlatforms,
  { titles, withTags, regions, isHack }: NameReading,
  facts: GameFacts,
  guess?: 'title' | 'part',
): Generator<void, Match> {
  const { budget, titlesOf, looseOf, wantedBy, gamesLike } = catalogue;
  const seen = new Map<GameNumber, MatchKind>();
  const note = (games: readonly GameNumber[], kind: MatchKind) => {
    for (const game of games) if (!seen.has(game)) seen.set(game, kind);
  };
  let first: GameNumber | undefined;
  const result = (game = first, kind: MatchKind = 'exact'): Match => {
    const others = [...seen].flatMap(([other, of]) =>
      other === game ? [] : [{ kind: of, game: other }],
    );
    const found = game === undefined ? undefined : { kind, game };
    return { found, candidates: others.slice(0, MOST_CANDIDATES) };
  };
  for (const title of new Set([...withTags, ...titles])) {
    if (budget.takePause()) yield;
    const games = gamesLike(title);
    if (budget.isSpent) return result();
    if (games.length === 0) continue;
    const { exact: wanted } = exactFormsOf(title);
    // "Agent (USA)" is not "Agent U.S.A.".
    const isLike = titles.includes(title) ? () => true : hasBrackets;
    const forms = games.map((game) => {
      const all = budget.isSpent ? [] : titlesOf(game);
      return budget.spend(all.length) ? all.filter(isLike).map(exactFormsOf) : [];
    });
    if (budget.isSpent) return result();
    const exact = games.filter((_, at) => forms[at].some((of) => of.exact === wanted));
    const half = games.filter((_, at) => forms[at].some((of) => of.halves.includes(wanted)));
    note(inOrder(exact, title, facts), 'exact');
    note(inOrder(half, title, facts), 'exact');
    // The games of both titles of "A aka B" count.
    if (seen.size > 0 && !hasTwoTitles(titles[0])) break;
  }
  [first] = seen.keys();
  const isHere = (game: GameNumber) => facts.frontRank(game) === 0;
  if (first !== undefined && (regions.length === 0 || isHere(first))) return result();
  for (const title of new Set([...titles, ...withTags])) {
    if (budget.takePause()) yield;
    // "レコラヴ (USA)" is not "U.S.A.".
    const most = titles.includes(title) ? Number.POSITIVE_INFINITY : 1;
    const loose = wantedBy(title).loose.slice(0, most);
    const lists = wantedBy(title).lists.slice(0, most);
    const compared = (game: GameNumber) => {
      const forms = budget.isSpent ? [] : looseOf(game);
      return budget.spend(forms.length) ? forms : [];
    };
    let same = gamesLike(title).filter((game) =>
      compared(game).some((of) => overlap(of.loose, loose)),
    );
    if (same.length === 0)
      same = withKeys(catalogue, 'words', lists.map(hashWords)).filter((game) =>
        compared(game).some((of) =>
          of.lists.some((list) => lists.some((words) => haveSameWords(list, words))),
        ),
      );
    if (budget.isSpent) return result();
    if (first === undefined) note(inOrder(same, title, facts), 'same');
    // The same title, spelt in another way for the file's region.
    else
      same = same.filter(
        (game) => isHere(game) && looseOf(game).some((of) => of.loose[0] === loose[0]),
      );
    if (isOneGame(same, facts)) return result(same[0], 'same');
  }
  if (first !== undefined) return result();
  if (seen.size === 0 && guess === undefined) {
    // A game with fronts, but none of the file's region, is likely another one.
    const near = (yield* findNear(catalogue, titles.map(wantedBy))).filter(
      (game) => regions.length === 0 || facts.frontRank(game) !== 1,
    );
    if (budget.isSpent) return result();
    note(near, 'near');
    if (isOneGame(near, facts)) return result(near[0], 'near');
  }
  if (seen.size < MOST_CANDIDATES && guess !== 'title') {
    if (budget.takePause()) yield;
    const { sure, games } = findParts(
      catalogue,
      titles.map((title) => {
        budget.spend(title.length * COST.formLetter);
        return { ...wantedBy(title), ...partsOf(title) };
      }),
      guess !== undefined,
    );
    if (budget.isSpent) return result();
    if (seen.size === 0 && sure !== undefined && !isHack) return result(sure, 'near');
    note(games, 'part');
  }
  return result();
}

/** Whether there is one game, perhaps on several platforms. */
export function isOneGame(
  [first, ...others]: readonly GameNumber[],
  { slug }: GameTitles,
): boolean {
  return first !== undefined && others.every((other) => slug(other) === slug(first));
}

function hasBrackets(title: string): boolean {
  return /[([{]/.test(title);
}

/** Several games of one kind: by their fronts, then those that are spelt like the name, then by slug. */
function inOrder(games: GameNumber[], title: string, facts: GameFacts): GameNumber[] {
  if (games.length < 2) return games;
  const isSpelt = (game: GameNumber) => facts.titles(game)[0] === title;
  return games.sort(
    (a, b) =>
      facts.frontRank(a) - facts.frontRank(b) ||
      Number(isSpelt(b)) - Number(isSpelt(a)) ||
      (facts.slug(a) < facts.slug(b) ? -1 : 1),
  );
}
