/**
 * Writes `index/match.bin`, in which the proxy finds the games of file names. The entries of games whose title
 * and path have not changed are copied from the earlier generation.
 */

import { encodeColumns } from '../../lib/format/index/columns.ts';
import { textOfId } from '../../lib/format/index/ids.ts';
import { MATCH_INDEX } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { looseFormsOf, MATCH_RULES, partsOf } from '../../lib/format/match/forms.ts';
import {
  FORM_LISTS,
  type FormList,
  hashForm,
  hashWords,
  lettersOf,
  looseKey,
  type MatchIndex,
  openMatchIndex,
} from '../../lib/format/match/match-index.ts';
import { groupsOf, makeColumn, startsOf } from '../columns.ts';
import type { GameItems } from '../order/items.ts';
import { writeWhole } from './file-writer.ts';
import { makePostings } from './indexes.ts';
import type { WriteSource } from './packs.ts';

/** Collects the forms of the titles of games, which are added in title order. */
export function makeForms(source: WriteSource, items: GameItems) {
  const { dir, numbering, titles, externalIds, earlier } = source;
  const before =
    titles.areSame && earlier ? openMatchIndex(earlier.read, source.platforms.length) : undefined;
  const copied = before && FORM_LISTS.map((name) => byGame(before[name], numbering.earlierGames));
  const lists = FORM_LISTS.map(() => makeList());
  const [loose, words, parts] = lists;
  return {
    /** Adds the forms of a game of the earlier generation. @param game its number now */
    copy(game: number, before: number): void {
      copied?.forEach((entriesOf, at) => {
        entriesOf(before, (key, letters) => lists[at].add(key, game, letters));
      });
    },
    /** Adds the forms of one title of a game. */
    add(game: number, title: string, wordsOfTitle: readonly string[], slugOf?: () => string): void {
      const forms = looseFormsOf(title, slugOf, wordsOfTitle);
      for (const form of forms.loose) loose.add(looseKey(form), game, lettersOf(form));
      for (const list of forms.lists) if (list.length > 1) words.add(hashWords(list), game, 0);
      const { heads, tails } = partsOf(title, wordsOfTitle);
      for (const part of [...heads, ...tails]) parts.add(hashForm(part), game, 0);
    },
    write(): Promise<ManifestFile> {
      const index: MatchIndex = {
        loose: loose.inOrder(numbering.firstGame),
        words: withoutLetters(words.inOrder(numbering.firstGame)),
        parts: withoutLetters(parts.inOrder(numbering.firstGame)),
        gameIds: makePostings(numbersById(source, items)),
        platformIds: makePostings(externalIds.ofPlatforms),
      };
      const rules = Uint32Array.of(MATCH_RULES);
      return writeWhole(dir, MATCH_INDEX, encodeColumns({ rules, ...index }));
    },
  };
}

function withoutLetters({ start, key, game }: FormList): FormList {
  return { start, key, game };
}

/** For each id of another source, the numbers of the games that have it, in ascending order. */
function numbersById({ numbering, externalIds: { ofGames } }: WriteSource, items: GameItems) {
  const numbers = new Map<string, number>();
  if (ofGames.size > 0)
    numbering.itemOfGame.forEach((item, number) => {
      numbers.set(textOfId(items.id(item)), number);
    });
  const found = new Map<string, number[]>();
  for (const [key, games] of ofGames)
    found.set(
      key,
      games.flatMap((id) => numbers.get(id) ?? []).sort((a, b) => a - b),
    );
  return found;
}

/** More entries than a platform will ever have: a key and an index below this fit 53 bits. */
const MOST_ENTRIES = 2 ** 21;

/** Collects entries; each key of a game counts once. Within a platform, games come in the order of their numbers. */
function makeList() {
  const [keys, games, letters] = [makeColumn(), makeColumn(), makeColumn()];
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
      const platformOf = groupsOf(firstGame);
      const platforms = all.game.map((number) => platformOf[number]);
      const start = startsOf(platforms, firstGame.length - 1);
      const next = start.slice();
      const entries = new Uint32Array(all.key.length);
      // A key and the index of its entry in one number: sorting numbers needs no comparator.
      const sorted = new Float64Array(all.key.length);
      platforms.forEach((platform, at) => {
        const to = next[platform]++;
        entries[to] = at;
        sorted[to] = all.key[at] * MOST_ENTRIES + to - start[platform];
      });
      const order = new Uint32Array(all.key.length);
      for (let platform = 0; platform + 1 < start.length; platform++) {
        const [from, to] = [start[platform], start[platform + 1]];
        sorted
          .subarray(from, to)
          .sort()
          .forEach((entry, at) => {
            order[from + at] = entries[from + (entry % MOST_ENTRIES)];
          });
      }
      return {
        start,
        key: order.map((at) => all.key[at]),
        game: order.map((at) => all.game[at]),
        letters: order.map((at) => all.letters[at]),
      };
    },
  };
}

/** @returns a function that calls `add` for each entry of an earlier game */
function byGame(
  { game, key, letters }: FormList & { readonly letters?: Uint32Array },
  games: number,
) {
  const start = startsOf(game, games);
  const next = start.slice();
  const entries = new Uint32Array(game.length);
  game.forEach((number, at) => {
    entries[next[number]++] = at;
  });
  return (number: number, add: (key: number, letters: number) => void) => {
    for (let at = start[number]; at < start[number + 1]; at++)
      add(key[entries[at]], letters?.[entries[at]] ?? 0);
  };
}
