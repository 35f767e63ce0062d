/** Warnings about a catalogue as a whole. Those about single rows are made where the rows are read. */
import { isFrontType, USUAL_FRONT_TYPES } from '../find/names/fronts.ts';
import { type GameNumber, next, numberAt } from '../lib/columns/numbers.ts';
import { compareIds } from '../lib/format/index/ids.ts';
import type { NumberedCatalogue } from './order/numbering.ts';
import { countsText, MOST_LISTED, type Warning } from './report/report.ts';
import type { GameItem } from './rows/catalogue.ts';
import { idOf, valueOfId } from './rows/ids.ts';
import { countValues } from './write/lists.ts';

export function findWarnings(catalogue: NumberedCatalogue): readonly Warning[] {
  return [...findTitlesInOtherCase(catalogue), ...findMissingFronts(catalogue)];
}

/** How many games before a game are compared with it. */
const MOST_BEFORE = 8;

/**
 * Titles that are equal but for case, of games of one platform. In title order, such games stand together, perhaps
 * with others between them that differ in accents.
 */
function findTitlesInOtherCase({ games, numbering }: NumberedCatalogue): Warning[] {
  const { itemOfGame } = numbering;
  const { platform, titleHash } = games;
  const found: { readonly game: GameItem; readonly value: string }[] = [];
  for (let number = numberAt<GameNumber>(1); number < itemOfGame.length; number = next(number)) {
    const game = itemOfGame[number];
    for (let other = number - 1; other >= Math.max(0, number - MOST_BEFORE); other--) {
      const before = itemOfGame[numberAt<GameNumber>(other)];
      const [a, b] = [titleHash[before], titleHash[game]];
      if (a === b || a >>> 16 !== b >>> 16 || platform[before] !== platform[game]) continue;
      const titles = [games.title(before), games.title(game)] as const;
      if (titles[0].toLowerCase() !== titles[1].toLowerCase()) continue;
      found.push({ game, value: titles.join(' / ') });
      break;
    }
  }
  if (found.length === 0) return [];
  const idAt = ({ game }: { readonly game: GameItem }) => idOf(games.ids, game);
  const rows = found
    .sort((one, other) => compareIds(idAt(one), idAt(other)))
    .slice(0, MOST_LISTED)
    .map((each) => ({ id: valueOfId(idAt(each)), value: each.value }));
  const reason = 'the title of another game of the platform differs only in case';
  return [{ table: 'games', reason, count: found.length, rows }];
}

/** Warns if no cover is a front: then no game has a best cover. */
function findMissingFronts({ covers, settings }: NumberedCatalogue): Warning[] {
  const { front_types: frontTypes = USUAL_FRONT_TYPES } = settings;
  const types = countValues('type', covers);
  if (types.length === 0 || types.some(([type]) => isFrontType(frontTypes, type))) return [];
  const count = covers.byId.length;
  return [{ table: null, reason: missingFronts(frontTypes, types), count, rows: [] }];
}

/** @param types of approved covers, the most frequent first */
export function missingFronts(
  frontTypes: readonly string[],
  types: readonly (readonly [type: string | null, covers: number])[],
): string {
  const counts = types.map(([type, covers]) => [type ?? 'NULL', covers] as const);
  return `no approved cover has a type of FRONT_TYPES, which is ${frontTypes.join()}; set it to one of the types that there are (${countsText(counts)})`;
}
