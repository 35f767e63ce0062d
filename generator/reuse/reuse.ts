/**
 * What a run reuses of an earlier one: its records, and how the rows of both runs relate. Threads share it.
 */

import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { openTexts } from '../columns/texts.ts';
import type { EarlierRecords } from './earlier-records.ts';
import { cachedRowOf, type Relation } from './row-tracks.ts';

export interface RelatedGames {
  readonly earlier: EarlierRecords;
  readonly relation: Relation;
  /** For each row: 1 if the platform, slug and title are those of the earlier run, and both published. */
  readonly hasSamePathAndTitle: Uint8Array;
  /**
   * Whether no game that is published in both runs, on the same platform, has another year or other genres.
   */
  readonly haveSameYearsAndGenres: boolean;
}

export interface ReusedGames extends RelatedGames {
  /** Whether the same games were published with the same paths and titles, and so have the same numbers. */
  readonly haveSameNumbers: boolean;
}

export interface ReusedCovers {
  /** Whether the same covers were published, with the same records. */
  readonly areSame: boolean;
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
): RelatedGames {
  const hasSamePathAndTitle = sharedZeros(Uint8Array, games.rows);
  const [slugAt, cachedSlug] = [games, cached].map(({ slugs }) => openTexts(slugs, 'latin1'));
  const [titleAt, cachedTitle] = [games, cached].map(({ titles }) => openTexts(titles));
  const genresIn = ({ genres, genresOf }: Games, row: number) => genres[genresOf[row]];
  let haveSameYearsAndGenres = true;
  for (let row = 0; row < games.rows; row++) {
    const before = cachedRowOf(relation, row);
    if (before === LEFT_OUT || games.platform[row] === LEFT_OUT) continue;
    if (games.platform[row] !== cached.platform[before]) continue;
    const isSameRow = relation.isSame[row] === 1;
    const hasSame =
      isSameRow || (slugAt(row) === cachedSlug(before) && titleAt(row) === cachedTitle(before));
    if (hasSame) hasSamePathAndTitle[row] = 1;
    if (isSameRow) continue;
    haveSameYearsAndGenres &&=
      games.year[row] === cached.year[before] && genresIn(games, row) === genresIn(cached, before);
  }
  return { earlier, relation, hasSamePathAndTitle, haveSameYearsAndGenres };
}

/**
 * The number that the record of a row had in the earlier generation, whether or not the row has changed;
 * LEFT_OUT if it had none.
 * @param numberOf that of the earlier games or covers, by cached row
 */
export function earlierNumber(numberOf: Uint32Array, relation: Relation, row: number): number {
  const before = cachedRowOf(relation, row);
  return before === LEFT_OUT ? LEFT_OUT : numberOf[before];
}
