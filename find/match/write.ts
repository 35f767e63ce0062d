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
import { lookupOf } from '../../lib/columns/numbers.ts';
import { makePostings } from '../../lib/columns/postings.ts';
import { looseFormsOf, MATCH_RULES, partsOf } from './forms.ts';
import type { FormList, MatchIndex } from './open.ts';
import { FORM_LISTS, hashForm, hashWords, lettersOf, looseKey, openMatch } from './open.ts';

/** The ids that other sources have given, as `source:value`, with the numbers of games or platforms, ascending. */
export interface OtherIds {
  readonly ofGames: ReadonlyMap<string, readonly number[]>;
  readonly ofPlatforms: ReadonlyMap<string, readonly number[]>;
}

/** @param list the index of a list of forms */
type AddForm = (list: number, key: number, letters: number) => void;

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
  let addEarlier: ((game: number, add: AddForm) => void) | undefined;
  const lists = FORM_LISTS.map(() => makeFormList());
  const [loose, words, parts] = lists;
  return {
    /** Adds the forms that a game had in the earlier catalogue. @param before its number there */
    copy(game: number, before: number): void {
      if (earlier === undefined) throw new Error('There is no earlier file of forms.');
      addEarlier ??= readForms(earlier.file(), earlier.platforms, earlier.games);
      addEarlier(before, (list, key, letters) => lists[list].add(key, game, letters));
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
      const { letters: _, ...wordList } = words.inOrder(firstGame);
      const { letters: __, ...partList } = parts.inOrder(firstGame);
      const index: MatchIndex = {
        loose: loose.inOrder(firstGame),
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

/** @returns a function that adds the forms of a game */
function readForms(
  file: ColumnFile,
  platforms: number,
  games: number,
): (game: number, add: AddForm) => void {
  const index = openMatch(file, platforms);
  const lists = FORM_LISTS.map((name) => ({
    letters: undefined,
    ...index[name],
    ofGames: group<number, number, number>(columnOf(index[name].game), games),
  }));
  return (game, add) => {
    for (const [list, { key, letters, ofGames }] of lists.entries()) {
      const { start, members } = ofGames;
      for (let at = start[game]; at < start[game + 1]; at++)
        add(list, key[members[at]], letters?.[members[at]] ?? 0);
    }
  };
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
    inOrder(firstGame: Uint32Array): FormList & { readonly letters: Uint32Array } {
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
