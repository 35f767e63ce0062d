/**
 * Finds the game that a file name means, among the games of some platforms. What the index finds by hashes is
 * compared with the titles themselves. The work is bounded: a name has a few titles, and a platform few
 * games whose forms are almost those of a title.
 */
import {
  exactFormsOf,
  haveSameWords,
  type LooseForms,
  looseForm,
  looseFormsOf,
} from '../../format/match/forms.ts';
import {
  type FormList,
  fewestEdits,
  findKeys,
  firstKeyOf,
  hashForm,
  hashWords,
  lettersOf,
  looseKey,
  type MatchIndex,
} from '../../format/match/match-index.ts';
import type { NameReading } from '../../format/match/read-name.ts';
import { countEdits } from './count-edits.ts';

/** How sure it is that a name means a game, the surest first; `part` is never more than a candidate. */
export type Kind = 'id' | 'exact' | 'same' | 'near' | 'part';

export interface Found {
  readonly kind: Kind;
  /** The number of the game. */
  readonly game: number;
}

export interface Match {
  /** The game that the name means, if it is certain enough. */
  readonly found: Found | undefined;
  /** Other games that it may mean, the likeliest first, each once. */
  readonly candidates: readonly Found[];
}

/** What is known of games besides the index. */
export interface KnownGames {
  title(game: number): string;
  slug(game: number): string;
  alternativeTitles(game: number): readonly string[];
  /** How well the fronts of a game fit a file: 0 with one in its regions, 1 with another, 2 without. */
  frontRank(game: number): 0 | 1 | 2;
}

const MOST_CANDIDATES = 3;
/** Of the games that a part of a title finds, how many are looked at. */
const MOST_PARTS = 8;
/** Shorter words that differ are other words: PV is not PIV. */
const SHORTEST_SPELLING = 4;

/** @param platforms the numbers of the platforms */
export function findMatches(
  index: MatchIndex,
  { titles, withTags }: NameReading,
  platforms: readonly number[],
  known: KnownGames,
): Match {
  const titlesOf = (game: number) => [known.title(game), ...known.alternativeTitles(game)];
  const exactOf = remember((game: number) => titlesOf(game).map(exactFormsOf));
  const looseOf: LooseOf = remember((game) => {
    const [title = '', ...others] = titlesOf(game);
    const own = looseFormsOf(title, () => known.slug(game));
    return [own, ...others.map((other) => looseFormsOf(other))];
  });
  const wantedBy = remember((title: string) => looseFormsOf(title));
  const seen = new Map<number, Kind>();
  const note = (games: readonly number[], kind: Kind) => {
    for (const game of games) if (!seen.has(game)) seen.set(game, kind);
  };
  const result = (game: number | undefined, kind: Kind): Match => {
    const others = [...seen].flatMap(([other, of]) =>
      other === game ? [] : [{ kind: of, game: other }],
    );
    const found = game === undefined ? undefined : { kind, game };
    return { found, candidates: others.slice(0, MOST_CANDIDATES) };
  };
  for (const title of new Set([...withTags, ...titles])) {
    const { exact: wanted } = exactFormsOf(title);
    const found = [...withLoose(index, platforms, wantedBy(title).loose)];
    const half = found.filter((game) => exactOf(game).some((of) => of.halves.includes(wanted)));
    const exact = found.filter((game) => exactOf(game).some((of) => of.exact === wanted));
    const ordered = inOrder(exact.length > 0 ? exact : half, title, known);
    note(ordered, 'exact');
    if (ordered.length > 0) {
      note(half, 'exact');
      return result(ordered[0], 'exact');
    }
  }
  for (const title of new Set([...titles, ...withTags])) {
    const { loose, lists } = wantedBy(title);
    let same = [...withLoose(index, platforms, loose)].filter((game) =>
      looseOf(game).some((of) => overlap(of.loose, loose)),
    );
    if (same.length === 0)
      same = withWords(index, platforms, lists).filter((game) =>
        looseOf(game).some((of) =>
          of.lists.some((list) => lists.some((words) => haveSameWords(list, words))),
        ),
      );
    note(inOrder(same, title, known), 'same');
    if (same.length === 1) return result(same[0], 'same');
  }
  const wanted = titles.map(wantedBy);
  if (seen.size === 0) {
    const near = findNear(index, wanted, platforms, looseOf);
    note(near, 'near');
    if (near.length === 1) return result(near[0], 'near');
  }
  if (seen.size < MOST_CANDIDATES) note(findParts(index, wanted, platforms, looseOf), 'part');
  return result(undefined, 'part');
}

/** The loose forms of a game's title and of its alternative titles. */
type LooseOf = (game: number) => readonly LooseForms[];

/** A function that computes each result once. */
export function remember<In, Out>(compute: (input: In) => Out): (input: In) => Out {
  const results = new Map<In, Out>();
  return (input) => {
    const result = results.get(input) ?? compute(input);
    results.set(input, result);
    return result;
  };
}

function overlap(one: readonly string[], other: readonly string[]): boolean {
  return one.some((form) => other.includes(form));
}

function withLoose(index: MatchIndex, platforms: readonly number[], forms: readonly string[]) {
  return withKeys(index.loose, platforms, forms.map(looseKey));
}

function withWords(index: MatchIndex, platforms: readonly number[], lists: LooseForms['lists']) {
  return [...withKeys(index.words, platforms, lists.map(hashWords))];
}

/** The games with an entry for one of the keys, each once. */
function withKeys(
  list: FormList,
  platforms: readonly number[],
  keys: readonly number[],
): Set<number> {
  const games = new Set<number>();
  for (const platform of platforms)
    for (const key of keys) {
      const [from, to] = findKeys(list, platform, key, key + 1);
      for (let at = from; at < to; at++) games.add(list.game[at]);
    }
  return games;
}

/** Several games of one kind: by their fronts, then those that are spelt like the name, then by slug. */
function inOrder(games: number[], title: string, known: KnownGames): number[] {
  if (games.length < 2) return games;
  const keys = new Map(
    games.map((game) => [
      game,
      [known.frontRank(game), known.title(game) === title ? 0 : 1, known.slug(game)] as const,
    ]),
  );
  const keyOf = (game: number) => keys.get(game) ?? [2, 1, ''];
  return games.sort((a, b) => {
    const [one, other] = [keyOf(a), keyOf(b)];
    return one[0] - other[0] || one[1] - other[1] || (one[2] < other[2] ? -1 : 1);
  });
}

/** How many letters of a form may be wrong. */
export function mostEdits(length: number): number {
  return length < 8 ? 0 : length < 16 ? 1 : length < 26 ? 2 : 3;
}

/** The games with the fewest wrong letters. */
function findNear(
  index: MatchIndex,
  wanted: readonly LooseForms[],
  platforms: readonly number[],
  looseOf: LooseOf,
): number[] {
  let best: number[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  const { game: games, letters } = index.loose;
  const tried = new Set<string>();
  for (const { loose, lists } of wanted) {
    const [form = ''] = loose;
    const [words = []] = lists;
    const most = mostEdits(form.length);
    if (most === 0 || tried.has(form)) continue;
    tried.add(form);
    const ofForm = lettersOf(form);
    for (const platform of platforms) {
      const low = firstKeyOf(form.length - most);
      const [from, to] = findKeys(index.loose, platform, low, firstKeyOf(form.length + most + 1));
      for (let at = from; at < to; at++) {
        if (fewestEdits(letters[at], ofForm) > Math.min(most, fewest)) continue;
        const edits = editsBetween(form, words, looseOf(games[at]), most);
        if (edits > fewest) continue;
        if (edits < fewest) best = [];
        fewest = Math.min(fewest, edits);
        if (edits <= most && !best.includes(games[at])) best.push(games[at]);
      }
    }
  }
  return best;
}

/** @returns Infinity if numbers or whole words differ */
function editsBetween(
  form: string,
  words: readonly string[],
  of: readonly LooseForms[],
  most: number,
): number {
  let fewest = Number.POSITIVE_INFINITY;
  for (const { lists } of of)
    for (const other of lists) {
      const text = looseForm(other);
      if (numbersIn(form) !== numbersIn(text)) continue;
      const edits = countEdits(form, text, most);
      if (edits <= most && edits < fewest && !hasOtherWord(words, other, edits)) fewest = edits;
    }
  return fewest;
}

/** Whether two titles differ in a word rather than in its spelling: a word more, or too little in common. */
function hasOtherWord(words: readonly string[], others: readonly string[], edits: number): boolean {
  const rest = words.filter((word) => !others.includes(word)).join('');
  const restOfOther = others.filter((word) => !words.includes(word)).join('');
  const shorter = Math.min(rest.length, restOfOther.length);
  const longer = Math.max(rest.length, restOfOther.length);
  if (longer < SHORTEST_SPELLING || edits * 2 > shorter) return true;
  const [one, other] = [words.join(''), others.join('')];
  return lacksWord(words, other) || lacksWord(others, one);
}

/** Whether the text is that of the words without one of them. */
function lacksWord(words: readonly string[], text: string): boolean {
  return words.some((_, at) => words.toSpliced(at, 1).join('') === text);
}

function numbersIn(form: string): string {
  return (form.match(/\d+/g) ?? []).join('.');
}

/** The games whose title is a part of one of the titles, or the other way around. */
function findParts(
  index: MatchIndex,
  wanted: readonly LooseForms[],
  platforms: readonly number[],
  looseOf: LooseOf,
): number[] {
  const found = new Set<number>();
  for (const { loose, head } of wanted) {
    const heads = head === undefined ? [] : [head];
    for (const game of withLoose(index, platforms, heads)) {
      if (found.size < MOST_PARTS && looseOf(game).some((of) => overlap(of.loose, heads)))
        found.add(game);
    }
    const parts = [...loose, ...heads];
    for (const game of withKeys(index.heads, platforms, parts.map(hashForm))) {
      if (found.size < MOST_PARTS && looseOf(game).some((of) => parts.includes(of.head ?? '')))
        found.add(game);
    }
  }
  return [...found].sort((a, b) => a - b);
}
