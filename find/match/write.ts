/** Makes the file by which the games of file names are found. What an earlier run wrote is read by this file alone. */
import {
  columnOf,
  GrowingList,
  group,
  groupsOf,
  numbersOf,
  through,
} from '../../lib/columns/columns.ts';
import type { ColumnFile } from '../../lib/columns/container.ts';
import { lookupOf, NONE } from '../../lib/columns/numbers.ts';
import { makePostings } from '../../lib/columns/postings.ts';
import { looseFormsOf, MATCH_RULES, partsOf } from './forms.ts';
import type { FormList, MatchIndex } from './open.ts';
import { FORM_LISTS, hashForm, hashWords, lettersOf, looseKey, openMatch } from './open.ts';

/** The ids that other sources have given, as `source:value`, with the numbers of games or platforms, ascending. */
export interface OtherIds {
  readonly ofGames: ReadonlyMap<string, readonly number[]>;
  readonly ofPlatforms: ReadonlyMap<string, readonly number[]>;
}

/**
 * Collects the forms of the titles of games. Those of a platform are added in the order of their numbers.
 * @param firstGame for each platform, the number of its first game, and at the end that of all games
 * @param earlier the forms that were written of an earlier catalogue, and how many platforms and games it has
 */
export function makeForms(
  firstGame: Uint32Array,
  earlier:
    | { readonly file: () => ColumnFile; readonly platforms: number; readonly games: number }
    | undefined,
) {
  /** The numbers now of the games of the earlier catalogue. */
  const numberNow = new Uint32Array(earlier?.games ?? 0).fill(NONE);
  const [loose, words, parts] = FORM_LISTS.map(() => makeFormList());
  return {
    /** Keeps the forms that a game had in the earlier catalogue. @param before its number there */
    copy(game: number, before: number): void {
      numberNow[before] = game;
    },
    /** Adds the forms of one title of a game. */
    add(game: number, title: string, wordsOfTitle: readonly string[], slugOf?: () => string): void {
      const forms = looseFormsOf(title, slugOf, wordsOfTitle);
      for (const form of forms.loose) loose.add(looseKey(form), game, lettersOf(form));
      for (const list of forms.lists) if (list.length > 1) words.add(hashWords(list), game, 0);
      const { heads, tails } = partsOf(title, wordsOfTitle);
      for (const part of [...heads, ...tails]) parts.add(hashForm(part), game, 0);
    },
    /** Makes the columns of all games. */
    finish(ids: OtherIds): object {
      const old = earlier && openMatch(earlier.file(), earlier.platforms);
      const all = (list: ReturnType<typeof makeFormList>, before: EarlierForms | undefined) => {
        const added = list.inOrder(firstGame);
        return before === undefined ? added : mergeForms(before, numberNow, added);
      };
      const { letters: _, ...wordList } = all(words, old?.words);
      const { letters: __, ...partList } = all(parts, old?.parts);
      const index: MatchIndex = {
        loose: all(loose, old?.loose),
        words: wordList,
        parts: partList,
        gameIds: makePostings(ids.ofGames),
        platformIds: makePostings(ids.ofPlatforms),
      };
      const rules = Uint32Array.of(MATCH_RULES);
      return { rules, ...index };
    },
  };
}

type AllForms = FormList & { readonly letters: Uint32Array };
type EarlierForms = FormList & { readonly letters?: Uint32Array };

/**
 * Merges the forms of an earlier catalogue with those of games that were added. Games that are kept are in the same
 * order as before.
 * @param numberNow for each game of the earlier catalogue, its number now, or none
 */
function mergeForms(before: EarlierForms, numberNow: Uint32Array, added: AllForms): AllForms {
  const most = before.key.length + added.key.length;
  const [key, game, letters] = [0, 0, 0].map(() => new Uint32Array(most));
  const start = new Uint32Array(added.start.length);
  let [count, next] = [0, 0];
  const put = (ofKey: number, ofGame: number, ofLetters: number) => {
    key[count] = ofKey;
    game[count] = ofGame;
    letters[count++] = ofLetters;
  };
  const putAdded = () => put(added.key[next], added.game[next], added.letters[next++]);
  for (let platform = 0; platform + 1 < start.length; platform++) {
    const end = added.start[platform + 1];
    for (let at = before.start[platform]; at < before.start[platform + 1]; at++) {
      const number = numberNow[before.game[at]];
      if (number === NONE) continue;
      const ofKey = before.key[at];
      while (
        next < end &&
        (added.key[next] < ofKey || (added.key[next] === ofKey && added.game[next] < number))
      )
        putAdded();
      put(ofKey, number, before.letters?.[at] ?? 0);
    }
    while (next < end) putAdded();
    start[platform + 1] = count;
  }
  const [keys, games, allLetters] = [key, game, letters].map((all) => all.subarray(0, count));
  return { start, key: keys, game: lookupOf(games), letters: allLetters };
}

/** Collects entries; each key of a game counts once. Within a platform, games come in the order of their numbers. */
function makeFormList() {
  const [keys, games, letters] = [new GrowingList(), new GrowingList(), new GrowingList()];
  let game = -1;
  const keysOfGame: number[] = [];
  return {
    add(key: number, ofGame: number, lettersOfForm: number) {
      if (ofGame !== game) keysOfGame.length = 0;
      game = ofGame;
      if (keysOfGame.includes(key)) return;
      keysOfGame.push(key);
      keys.add(key);
      games.add(game);
      letters.add(lettersOfForm);
    },
    /** @param firstGame for each platform, the number of its first game, and at the end that of all games */
    inOrder(firstGame: Uint32Array): AllForms {
      const all = { key: keys.all(), game: games.all(), letters: letters.all() };
      const platformOfGame = numbersOf(groupsOf(columnOf(firstGame)));
      let order: Uint32Array = Uint32Array.from(all.key.keys());
      /** Sorts by a value; entries with the same one keep their order. @returns where those of each value start */
      const sortBy = (partOf: (entry: number) => number, values: number): Uint32Array => {
        const { start, members } = group(columnOf(order.map(partOf)), values);
        order = numbersOf(through(members, columnOf(order)));
        return numbersOf(start);
      };
      sortBy((entry) => all.key[entry] & 0xffff, 2 ** 16);
      sortBy((entry) => all.key[entry] >>> 16, 2 ** 16);
      const start = sortBy((entry) => platformOfGame[all.game[entry]], firstGame.length - 1);
      return {
        start,
        key: order.map((entry) => all.key[entry]),
        game: lookupOf(order.map((entry) => all.game[entry])),
        letters: order.map((entry) => all.letters[entry]),
      };
    },
  };
}
