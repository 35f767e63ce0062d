/**
 * Counts the records of a generation, for the body of `/stats` and for the manifest.
 */
import type { Counts } from '../../format/manifest.ts';
import type { Covers, Platform } from '../columns/catalogue.ts';
import type { Numbering } from '../order/numbering.ts';
import { encodeTime } from '../read/records.ts';

const TOP_PLATFORMS = 10;

export interface Statistics {
  readonly counts: Omit<Counts, 'left_out'>;
  /** The latest time at which a published cover was approved, or null. */
  readonly latestCoverAt: string | null;
  /** The body of `/stats`. */
  readonly body: string;
}

/** @param coverFiles the number of files of published covers */
export function gatherStatistics(
  platforms: readonly Platform[],
  covers: Covers,
  { rowOfGame, rowOfCover, firstGame, firstCover }: Numbering,
  coverFiles: number,
): Statistics {
  let latest = Number.NEGATIVE_INFINITY;
  for (let number = 0; number < rowOfCover.length; number++) {
    const time = covers.approvedAt[rowOfCover[number]];
    if (time > latest) latest = time;
  }
  let gamesWithCovers = 0;
  for (let game = 0; game < rowOfGame.length; game++) {
    if (firstCover[game + 1] > firstCover[game]) gamesWithCovers++;
  }
  const counts = {
    platforms: platforms.length,
    games: rowOfGame.length,
    covers: rowOfCover.length,
    cover_files: coverFiles,
  };
  const latestCoverAt = encodeTime(latest === Number.NEGATIVE_INFINITY ? Number.NaN : latest);
  const top = platforms
    .map(({ slug, name }, platform) => {
      const first = firstGame[platform];
      const end = firstGame[platform + 1];
      const coverCount = firstCover[end] - firstCover[first];
      return { slug, name, games: end - first, covers: coverCount };
    })
    // Of equal ones, the order of platforms stays: the sort is stable.
    .sort((a, b) => b.covers - a.covers)
    .slice(0, TOP_PLATFORMS);
  const body = JSON.stringify({
    ...counts,
    games_with_covers: gamesWithCovers,
    covers_by_region: countBy(covers.regions, covers.region, rowOfCover).map(([region, count]) => ({
      region,
      covers: count,
    })),
    covers_by_type: countBy(covers.types, covers.type, rowOfCover).map(([type, count]) => ({
      type,
      covers: count,
    })),
    top_platforms: top,
    latest_cover_at: latestCoverAt,
  });
  return { counts, latestCoverAt, body };
}

/** How many covers have each value, the most frequent value first; null is a value, too. */
function countBy(
  values: readonly (string | null)[],
  column: Uint32Array,
  rowOfCover: Uint32Array,
): [value: string | null, count: number][] {
  const counts = new Uint32Array(values.length);
  for (let number = 0; number < rowOfCover.length; number++) counts[column[rowOfCover[number]]]++;
  return values
    .map((value, number): [string | null, number] => [value, counts[number]])
    .filter(([, count]) => count > 0)
    .sort(([a, left], [b, right]) => right - left || ((a ?? '\uffff') < (b ?? '\uffff') ? -1 : 1));
}
