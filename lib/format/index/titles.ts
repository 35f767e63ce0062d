/**
 * The alternative titles of the games, for `include=titles`: for each game that has some, the JSON array
 * that the API sends.
 */

import { firstIndex } from '../../columns/arrays.ts';
import { checkAscending, checkStarts } from '../../columns/checks.ts';
import { TITLE_INDEX } from '../layout.ts';
import { openIndexFile } from './index-file.ts';

/** The columns of `index/titles.bin`. */
export interface TitleColumns {
  /** The numbers of the games that have alternative titles, ascending. */
  readonly game: Uint32Array;
  /** Where the array of each of them starts in `json`, and at the end the length of `json`. */
  readonly start: Uint32Array;
  /** The arrays in UTF-8, one after another. */
  readonly json: Uint8Array;
}

/**
 * @param contentOf returns the content of a file of the index by its name
 * @throws Error that names what is damaged
 */
export function openTitles(contentOf: (name: string) => Uint8Array): TitleColumns {
  const { column } = openIndexFile(contentOf, TITLE_INDEX);
  const game = column('game', 'u32');
  const start = column('start', 'u32', game.length + 1);
  const json = column('json', 'u8');
  return { game, start, json };
}

/** Checks all values. @param games how many games there are @throws Error that names what is damaged */
export function checkTitles({ game, start, json }: TitleColumns, games: number): void {
  checkStarts(start, json.length, TITLE_INDEX, 'start');
  const fault = `its games do not ascend below ${games}`;
  checkAscending(game, 0, game.length, games, TITLE_INDEX, fault);
}

/** The JSON array of the alternative titles of a game; undefined if it has none. */
export function titlesOf(
  { game, start, json }: TitleColumns,
  number: number,
): Uint8Array | undefined {
  const at = firstIndex(0, game.length, (index) => game[index] >= number);
  return game[at] === number ? json.subarray(start[at], start[at + 1]) : undefined;
}
