/**
 * The alternative titles of the games, for `include=titles`: for each game that has some, the JSON array
 * that the API sends; and the lists of them for readers of copies.
 */

import { firstIndex } from '../../columns/arrays.ts';
import { checkAscending, checkStarts } from '../../columns/checks.ts';
import { TITLE_INDEX } from '../layout.ts';
import { PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../pack.ts';
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
export function checkTitleColumns({ game, start, json }: TitleColumns, games: number): void {
  checkStarts(start, json.length, TITLE_INDEX, 'start');
  const fault = `its games do not ascend below ${games}`;
  checkAscending(game, 0, game.length, games, TITLE_INDEX, fault);
}

/**
 * The content of `titles/<platform slug>.json`, for each platform of which a game has alternative titles.
 * @param firstGame the number of the first game of each platform, and at the end how many games there are
 * @param idOf returns the id of a game in decimal digits
 */
export function* titleLists(
  { game, start, json }: TitleColumns,
  firstGame: ArrayLike<number>,
  idOf: (game: number) => string,
): Generator<[platform: number, content: () => string]> {
  const from = (number: number) => firstIndex(0, game.length, (index) => game[index] >= number);
  for (let platform = 0; platform + 1 < firstGame.length; platform++) {
    const [first, end] = [from(firstGame[platform]), from(firstGame[platform + 1])];
    if (first === end) continue;
    const line = (number: number, index: number) => {
      const titles = Buffer.from(json.subarray(start[first + index], start[first + index + 1]));
      return `{"id":${idOf(number)},"titles":${titles}}`;
    };
    const records = () => Array.from(game.subarray(first, end), line);
    yield [platform, () => PACK_HEAD + records().join(RECORD_SEPARATOR) + PACK_TAIL];
  }
}

/** The JSON array of the alternative titles of a game; undefined if it has none. */
export function titlesOf(
  { game, start, json }: TitleColumns,
  number: number,
): Uint8Array | undefined {
  const at = firstIndex(0, game.length, (index) => game[index] >= number);
  return game[at] === number ? json.subarray(start[at], start[at + 1]) : undefined;
}
