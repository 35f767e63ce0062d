/** The slugs, titles and ids of games, whether they were read or are stored. */
import { firstIndexNear } from '../../lib/format/index/arrays.ts';
import { compareIds, type Id, textOfId } from '../../lib/format/index/ids.ts';
import { type Games, rowOf, type Stored } from './catalogue.ts';
import type { GameItem } from './columns.ts';
import { idOf } from './ids.ts';
import { openValues } from './records.ts';

export interface Names {
  slug(game: GameItem): string;
  title(game: GameItem): string;
  id(game: GameItem): Id;
  /** The id in decimal digits. */
  idText(game: GameItem): string;
}

export function openNames({ ids, rows, firstRow }: Games, stored: Stored | undefined): Names {
  const ofRows = openValues(rows.texts);
  const nameOf = (name: 'slug' | 'title') => (game: GameItem) =>
    stored !== undefined && game < firstRow
      ? stored[name](game)
      : ofRows[name](rowOf(game, firstRow));
  return {
    slug: nameOf('slug'),
    title: nameOf('title'),
    id: (game) => idOf(ids, game),
    idText: (game) => textOfId(idOf(ids, game)),
  };
}

/** @returns a function that tells whether a game is published; ids that ascend are found faster */
export function makeIsPublished({ byId, ids }: Games): (id: Id) => boolean {
  let last = 0;
  return (id) => {
    if (byId.length === 0) return false;
    const compareAt = (position: number) => compareIds(idOf(ids, byId[position]), id);
    const found = firstIndexNear(last, 0, byId.length, (position) => compareAt(position) >= 0);
    last = Math.min(found, byId.length - 1);
    return compareAt(last) === 0;
  };
}
