/**
 * Writes `index/match.bin`, in which the proxy finds the games of file names. The entries of games whose title
 * and path have not changed are copied from the earlier generation.
 */

import { firstIndex } from '../../format/index/arrays.ts';
import { encodeColumns } from '../../format/index/columns.ts';
import { textOfId } from '../../format/index/ids.ts';
import { MATCH_INDEX } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { type LooseForms, looseFormsOf } from '../../format/match/forms.ts';
import {
  FORM_LISTS,
  type FormList,
  hashForm,
  hashWords,
  lettersOf,
  looseKey,
  matchColumns,
  openMatchIndex,
} from '../../format/match/match-index.ts';
import { type GameItems, makeGameItems } from '../order/items.ts';
import { startsOf } from '../order/numbering.ts';
import { LEFT_OUT } from '../read/catalogue.ts';
import { writeWhole } from './file-writer.ts';
import { makePostings } from './indexes.ts';
import type { WriteSource } from './packs.ts';

/** Links the file if no title, path, alternative title or id of another source has changed. */
export async function writeMatch(source: WriteSource): Promise<ManifestFile> {
  const { dir, games, numbering, titles, externalIds, earlier } = source;
  if (numbering.isSame && titles.areSame && externalIds.areSame) {
    const linked = earlier?.link(dir, MATCH_INDEX);
    if (linked !== undefined) return linked;
  }
  const { itemOfGame, firstGame, earlierGames, twins } = numbering;
  const items = makeGameItems(games, earlier);
  const before = titles.areSame && earlier ? openMatchIndex(earlier.read) : undefined;
  const copied = before && FORM_LISTS.map((name) => byGame(before[name], earlierGames));
  const lists = FORM_LISTS.map(() => makeList());
  itemOfGame.forEach((item, number) => {
    const alternatives =
      titles.of.size === 0 ? [] : (titles.of.get(textOfId(items.id(item))) ?? []);
    const known = item < earlierGames ? item : twins[item - earlierGames];
    if (copied !== undefined && known !== LEFT_OUT) {
      copied.forEach((entriesOf, at) => {
        entriesOf(known, (key, letters) => lists[at].add(key, number, letters));
      });
      return;
    }
    addForms(
      lists,
      number,
      looseFormsOf(items.title(item), () => items.slug(item)),
    );
    for (const title of alternatives) addForms(lists, number, looseFormsOf(title));
  });
  const [loose, words, heads] = lists.map((list) => list.inOrder(firstGame));
  const columns = matchColumns({
    loose,
    words,
    heads,
    gameIds: makePostings(numbersById(source, items)),
    platformIds: makePostings(externalIds.ofPlatforms),
  });
  return writeWhole(dir, MATCH_INDEX, encodeColumns(columns));
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

function addForms(
  lists: readonly List[],
  game: number,
  { lists: wordLists, loose: forms, head }: LooseForms,
): void {
  const [loose, words, heads] = lists;
  for (const form of forms) loose.add(looseKey(form), game, lettersOf(form));
  for (const list of wordLists) if (list.length > 1) words.add(hashWords(list), game, 0);
  if (head !== undefined) heads.add(hashForm(head), game, 0);
}

type List = ReturnType<typeof makeList>;

/** More entries than a platform will ever have: a key and an index below this fit 53 bits. */
const MOST_ENTRIES = 2 ** 21;

/** Collects entries in the order of their games; each key of a game counts once. */
function makeList() {
  const keys: number[] = [];
  const games: number[] = [];
  const allLetters: number[] = [];
  return {
    add(key: number, game: number, letters: number) {
      for (let at = games.length - 1; games[at] === game; at--) if (keys[at] === key) return;
      keys.push(key);
      games.push(game);
      allLetters.push(letters);
    },
    /** @param firstGame for each platform, the number of its first game, and at the end that of all games */
    inOrder(firstGame: Uint32Array): FormList & { readonly letters: Uint32Array } {
      const start = firstGame.map((first) =>
        firstIndex(0, games.length, (at) => games[at] >= first),
      );
      const order = new Uint32Array(games.length);
      for (let platform = 0; platform + 1 < start.length; platform++) {
        const [from, to] = [start[platform], start[platform + 1]];
        // A key and the index of its entry in one number: sorting numbers needs no comparator.
        const sorted = new Float64Array(to - from);
        for (let at = 0; at < sorted.length; at++) sorted[at] = keys[from + at] * MOST_ENTRIES + at;
        sorted.sort().forEach((entry, at) => {
          order[from + at] = from + (entry % MOST_ENTRIES);
        });
      }
      return {
        start,
        key: order.map((at) => keys[at]),
        game: order.map((at) => games[at]),
        letters: order.map((at) => allLetters[at]),
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
