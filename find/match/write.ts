/** Makes the columns of `index/match.bin`, in which the proxy finds the games of file names. */

import type { AddForm } from '../../generator/reuse/stored-generation.ts';
import { idOf } from '../../generator/rows/ids.ts';
import type { GameNumber, PlatformNumber } from '../../generator/rows/numbers.ts';
import { makePostings } from '../../generator/write/indexes.ts';
import type { WriteSource } from '../../generator/write/packs.ts';
import type { Column } from '../../lib/columns/columns.ts';
import {
  columnOf,
  group,
  groupsOf,
  NumberList,
  numbersOf,
  through,
} from '../../lib/columns/columns.ts';
import { textOfId } from '../../lib/format/index/ids.ts';
import { looseFormsOf, MATCH_RULES, partsOf } from './forms.ts';
import type { FormList, MatchIndex } from './open.ts';
import { FORM_LISTS, hashForm, hashWords, lettersOf, looseKey } from './open.ts';

/** Collects the forms of the titles of games, which are added in title order. */
export function makeForms(source: WriteSource) {
  const { numbering, externalIds, stored } = source;
  let addStored: ((game: number, add: AddForm) => void) | undefined;
  const lists = FORM_LISTS.map(() => makeFormList());
  const [loose, words, parts] = lists;
  return {
    /** Adds the stored forms of a game. @param number of the stored game */
    copy(game: GameNumber, number: number): void {
      addStored ??= stored?.forms();
      addStored?.(number, (list, key, letters) => lists[list].add(key, game, letters));
    },
    /** Adds the forms of one title of a game. */
    add(
      game: GameNumber,
      title: string,
      wordsOfTitle: readonly string[],
      slugOf?: () => string,
    ): void {
      const forms = looseFormsOf(title, slugOf, wordsOfTitle);
      for (const form of forms.loose) loose.add(looseKey(form), game, lettersOf(form));
      for (const list of forms.lists) if (list.length > 1) words.add(hashWords(list), game, 0);
      const { heads, tails } = partsOf(title, wordsOfTitle);
      for (const part of [...heads, ...tails]) parts.add(hashForm(part), game, 0);
    },
    columns() {
      const { letters: _, ...wordList } = words.inOrder(numbering.firstGame);
      const { letters: __, ...partList } = parts.inOrder(numbering.firstGame);
      const index: MatchIndex = {
        loose: loose.inOrder(numbering.firstGame),
        words: wordList,
        parts: partList,
        gameIds: makePostings(numbersById(source)),
        platformIds: makePostings(externalIds.ofPlatforms),
      };
      const rules = Uint32Array.of(MATCH_RULES);
      return { rules, ...index };
    },
  };
}

/** For each id of another source, the numbers of the games that have it, in ascending order. */
function numbersById({ games, numbering, externalIds: { ofGames } }: WriteSource) {
  const numbers = new Map<string, number>();
  if (ofGames.size > 0)
    numbering.itemOfGame.forEach((item, number) => {
      numbers.set(textOfId(idOf(games.ids, item)), number);
    });
  const found = new Map<string, number[]>();
  for (const [key, ids] of ofGames)
    found.set(
      key,
      ids.flatMap((id) => numbers.get(id) ?? []).sort((a, b) => a - b),
    );
  return found;
}

/** Collects entries; each key of a game counts once. Within a platform, games come in the order of their numbers. */
function makeFormList() {
  const [keys, games, letters] = [new NumberList(), new NumberList(), new NumberList()];
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
    inOrder(
      firstGame: Column<PlatformNumber, GameNumber>,
    ): FormList & { readonly letters: Uint32Array } {
      const all = { key: keys.all(), game: games.all(), letters: letters.all() };
      const platformOfGame = numbersOf(groupsOf(firstGame));
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
        game: order.map((entry) => all.game[entry]),
        letters: order.map((entry) => all.letters[entry]),
      };
    },
  };
}
