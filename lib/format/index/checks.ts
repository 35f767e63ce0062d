/**
 * Checks all values of the record index that a reader relies on: every number refers to something that exists,
 * every record lies inside its pack, and what is bisected is in order. A valid
 * SHA-256 shows only that a file is the one that the manifest names, not that a generator made it. Each
 * check throws an error with the file and its first fault. The time grows linearly with the index.
 */

import { compareSlices } from '../../columns/arrays.ts';
import { checkEach, checkStarts, damaged } from '../../columns/checks.ts';
import {
  COVER_INDEX,
  coversPack,
  GAME_INDEX,
  gamesPack,
  PATH_INDEX,
  PLATFORMS,
} from '../layout.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../pack.ts';
import { compareIdsAt, type IdColumns } from './ids.ts';
import { hashSlug, type RecordColumns, type RecordIndex } from './record-index.ts';

/**
 * @param sizeOf returns the size of a file of the generation in bytes; undefined if it does not exist
 * @param hasKnownPaths whether the file of paths was checked, with as many games on each platform
 */
export function checkRecordIndex(
  index: RecordIndex,
  sizeOf: (path: string) => number | undefined,
  hasKnownPaths = false,
): void {
  const { platforms, platformBySlug, games, covers } = index;
  const { firstCover } = games;
  if (platformBySlug.size < platforms.length) throw damaged(PLATFORMS, 'a slug is there twice');
  checkStarts(firstCover, covers.byteLength.length, GAME_INDEX, 'firstCover');
  for (const platform of platforms) {
    const { slug, firstGame, games: count } = platform;
    checkPack(games, GAME_INDEX, gamesPack(slug), firstGame, count, sizeOf);
    checkPack(covers, COVER_INDEX, coversPack(slug), platform.firstCover, platform.covers, sizeOf);
    if (firstCover[firstGame] !== platform.firstCover) {
      throw damaged(GAME_INDEX, `the covers of ${slug} do not begin with ${platform.firstCover}`);
    }
  }
  if (!hasKnownPaths) checkPaths(index);
  checkIds(covers, COVER_INDEX);
}

function checkPaths({ platforms, games }: RecordIndex): void {
  const { rank, gameOfRank, slugStart, slugText, bySlug, slugHash } = games;
  checkStarts(slugStart, slugText.length, PATH_INDEX, 'slugStart');
  checkEach(rank.length, PATH_INDEX, '"gameOfRank" does not lead back to each game', (game) => {
    return gameOfRank[rank[game]] === game;
  });
  for (const { slug, firstGame, games: count } of platforms) {
    checkEach(count, PATH_INDEX, `the games of ${slug} are not in title order`, (at) => {
      return at === 0 || rank[firstGame + at] > rank[firstGame + at - 1];
    });
    const wrongSlugs = `the games of ${slug} are not in the order of their slugs' hashes`;
    checkEach(count, PATH_INDEX, wrongSlugs, (place) => {
      const at = firstGame + place;
      const game = bySlug[at];
      if (game < firstGame || game >= firstGame + count) return false;
      if (slugHash[at] !== hashSlug(slugText.subarray(slugStart[game], slugStart[game + 1])))
        return false;
      if (place === 0) return true;
      const byHash = slugHash[at - 1] - slugHash[at];
      return (byHash || compareSlices(slugText, slugStart, bySlug[at - 1], game)) < 0;
    });
  }
  checkIds(games, PATH_INDEX);
}

/** Checks that the records of a platform follow one another in a pack without gaps and fill it. */
function checkPack(
  { byteOffset, byteLength }: RecordColumns,
  indexFile: string,
  pack: string,
  first: number,
  count: number,
  sizeOf: (path: string) => number | undefined,
): void {
  const size = sizeOf(pack);
  if (size === undefined) throw damaged(PLATFORMS, `there is no ${pack}`);
  let at = PACK_HEAD.length;
  for (let number = first; number < first + count; number++) {
    if (byteOffset[number] !== at) {
      throw damaged(indexFile, `record ${number} is not at byte ${at} of ${pack}`);
    }
    at += byteLength[number] + RECORD_SEPARATOR.length;
  }
  const end = count === 0 ? EMPTY_PACK.length : at - RECORD_SEPARATOR.length + PACK_TAIL.length;
  if (end !== size) {
    throw damaged(indexFile, `its records take ${end} bytes of ${pack}, which has ${size}`);
  }
}

function checkIds(columns: IdColumns, file: string): void {
  const { numberOfId } = columns;
  const count = numberOfId.length;
  checkEach(count, file, '"numberOfId" names a record that does not exist', (at) => {
    return numberOfId[at] < count;
  });
  checkEach(count, file, 'its ids do not ascend', (at) => {
    return at === 0 || compareIdsAt(columns, at, columns, at - 1) > 0;
  });
}
