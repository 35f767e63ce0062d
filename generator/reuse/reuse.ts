/**
 * What a run reuses of an earlier one: its records, and how the rows of both runs relate. Threads share it.
 */

import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { openTexts } from '../columns/texts.ts';
import type { EarlierRecords } from './earlier-records.ts';
import type { Relation } from './row-tracks.ts';

export interface ReusedGames {
  readonly earlier: EarlierRecords;
  readonly relation: Relation;
  /** For each row: 1 if the platform, slug and title are those of the earlier run, and both published. */
  readonly isSamePath: Uint8Array;
}

export interface ReusedCovers {
  readonly relation: Relation;
  /** For each row: 1 if the files of the cover were read in this run. */
  readonly mustRead: Uint8Array;
}

/** @param cached the games of the earlier run */
export function relateGames(
  games: Games,
  cached: Games,
  earlier: EarlierRecords,
  relation: Relation,
): ReusedGames {
  const isSamePath = sharedZeros(Uint8Array, games.rows);
  const [slugAt, cachedSlug] = [games, cached].map(({ slugs }) => openTexts(slugs, 'latin1'));
  const [titleAt, cachedTitle] = [games, cached].map(({ titles }) => openTexts(titles));
  for (let row = 0; row < games.rows; row++) {
    const before = relation.cachedRow[row];
    if (before === LEFT_OUT || games.platform[row] === LEFT_OUT) continue;
    if (games.platform[row] !== cached.platform[before]) continue;
    const isSame =
      relation.isKnown[row] === 1 ||
      (slugAt(row) === cachedSlug(before) && titleAt(row) === cachedTitle(before));
    if (isSame) isSamePath[row] = 1;
  }
  return { earlier, relation, isSamePath };
}

/** The number of the record that an unchanged row had in the earlier generation, or LEFT_OUT. */
export function earlierNumber(numberOf: Uint32Array, { cachedRow }: Relation, row: number): number {
  const before = cachedRow[row];
  return before === LEFT_OUT ? LEFT_OUT : numberOf[before];
}
