/**
 * Reads the alternative titles of games from `game_titles`, which a database may lack. Only the titles of
 * one game at a time are in memory as strings.
 */

import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { type AlternativeTitles, type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { findId, valueOfId } from '../columns/ids.ts';
import { growingColumns } from '../columns/row-columns.ts';
import { makeTexts, openTexts, type Texts } from '../columns/texts.ts';
import type { Report } from '../report/report.ts';
import { type Note, RowFault } from '../report/row-fault.ts';
import type { ReadTable } from './read-table.ts';
import * as check from './row-checks.ts';

const TABLE = 'game_titles';

/** Titles in the order of the database: for each, the game's row. */
interface FoundTitles {
  readonly rows: number;
  readonly game: Uint32Array;
  readonly titles: Texts;
}

/** What a database without the table has. */
export function noGameTitles(): AlternativeTitles {
  return { game: new Uint32Array(0), titles: makeTexts().texts };
}

export async function readGameTitles(
  read: ReadTable,
  report: Report,
  games: Games,
): Promise<AlternativeTitles> {
  const { columns, reserve } = growingColumns({ game: Uint32Array });
  const titles = makeTexts();
  let rows = 0;
  let lastGame = 0;
  await read(TABLE, 'game_id, title', (row, id) => {
    const gameId = check.checkId(id, 'game_id');
    const game = findId(games.ids, games.rows, gameId, lastGame);
    if (game < 0) throw new RowFault('the game does not exist', id, true);
    lastGame = game;
    const title = check.checkText(row[1], 'title');
    if (games.platform[game] === LEFT_OUT) throw new RowFault('its game is left out', id, true);
    reserve(rows);
    columns.game[rows] = game;
    titles.add(rows++, title);
  });
  return sortTitles({ rows, game: columns.game, titles: titles.texts }, games, report);
}

/** Sorts the titles, and leaves out those that a game has twice. */
function sortTitles(found: FoundTitles, games: Games, report: Report): AlternativeTitles {
  const titleAt = openTexts(found.titles);
  // They are in this order already, unless the database compares its ids as texts.
  const order = Uint32Array.from({ length: found.rows }, (_, row) => row).sort(
    (a, b) => found.game[a] - found.game[b],
  );
  const game = sharedZeros(Uint32Array, found.rows);
  const titles = makeTexts();
  let count = 0;
  for (let at = 0; at < order.length; ) {
    const row = found.game[order[at]];
    const own: string[] = [];
    while (at < order.length && found.game[order[at]] === row) own.push(titleAt(order[at++]));
    const id = valueOfId([games.ids.high[row], games.ids.low[row]]);
    // Without a comparator, sort() compares by UTF-16 code unit.
    own.sort().forEach((title, index) => {
      if (title === own[index - 1]) {
        report.leaveOut(TABLE, id, new RowFault('the title appears twice for its game', title));
        return;
      }
      const warn: Note = (reason, value) => report.warn(TABLE, id, reason, value);
      check.noteDamage(title, 'title', warn, 'searched');
      game[count] = row;
      titles.add(count++, title);
    });
  }
  return { game: game.subarray(0, count), titles: titles.texts };
}
