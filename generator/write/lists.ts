/**
 * Writes the files that are complete response bodies: `platforms.json`, `covers-recent.json` and
 * `stats.json`.
 */

import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { firstIndex } from '../../lib/format/index/arrays.ts';
import { findById, type IdColumns, splitId, textOfId } from '../../lib/format/index/ids.ts';
import { COVERS_RECENT, coversPack, PLATFORMS, STATS } from '../../lib/format/layout.ts';
import type { Counts, ManifestFile } from '../../lib/format/manifest.ts';
import { listHead, listTail, RECORD_SEPARATOR } from '../../lib/format/pack.ts';
import { readExactly } from '../../lib/generations/files/checked-files.ts';
import { type Covers, LEFT_OUT } from '../read/catalogue.ts';
import { isInFuture } from '../report/warnings.ts';
import type { EarlierGeneration } from '../reuse/earlier-generation.ts';
import { writeWhole } from './file-writer.ts';
import type { CoverSource, WriteSource } from './packs.ts';
import { encodePlatform, encodeTime, platformUrl } from './records.ts';

export function writePlatforms(source: WriteSource): Promise<ManifestFile> {
  const { dir, platforms, settings, numbering } = source;
  const { firstGame, firstCoverOf } = numbering;
  const records = platforms.map(({ slug, name }, platform) => {
    const games = firstGame[platform + 1] - firstGame[platform];
    const covers = firstCoverOf[platform + 1] - firstCoverOf[platform];
    return encodePlatform(slug, name, games, covers, platformUrl(settings, slug));
  });
  const { length } = records;
  return writeWhole(dir, PLATFORMS, [
    listHead(length),
    records.join(RECORD_SEPARATOR),
    listTail(length),
  ]);
}

/** The time and the id of a cover. */
export type RecentCover = readonly [seconds: number, id: string];

const MOST_RECENT = 100;
/** How many of the past a run keeps for the next one, so that some of them can go. */
const MOST_KEPT = 1_000;

/**
 * The covers that were approved most recently, the latest first, and with them all that were approved in the
 * future. Those without a time are never among them.
 */
export interface RecentCovers {
  readonly covers: readonly RecentCover[];
  /** All covers up to this one are known; undefined if all are. */
  readonly end: RecentCover | undefined;
}

/**
 * Of two covers approved at the same time, the one with the higher id is first.
 * @param now in seconds since 1970
 * @param kept those of the earlier run, without covers that were read again or are gone
 * @throws Error if too few are known
 */
export function findRecent(
  covers: Covers,
  now: number,
  kept: RecentCovers = { covers: [], end: undefined },
): RecentCovers {
  const recent = [...kept.covers];
  let { end } = kept;
  let nextCut = MOST_KEPT * 10;
  const cut = () => {
    recent.sort(compareRecent);
    const past = recent.findIndex(([time]) => !isInFuture(time, now));
    const most = past < 0 ? recent.length : past + MOST_KEPT;
    if (recent.length > most) end = recent[most - 1];
    recent.length = Math.min(recent.length, most);
    nextCut = recent.length + MOST_KEPT * 10;
  };
  for (let row = 0; row < covers.rows; row++) {
    const time = covers.approvedAt[row];
    if (covers.game[row] === LEFT_OUT || Number.isNaN(time)) continue;
    if (end !== undefined && time < end[0]) continue;
    const cover: RecentCover = [time, textOfId([covers.ids.high[row], covers.ids.low[row]])];
    if (end !== undefined && compareRecent(cover, end) > 0) continue;
    if (recent.push(cover) === nextCut) cut();
  }
  cut();
  if (end !== undefined && recent.length < MOST_RECENT)
    throw new Error('too many of the recent covers have changed');
  return { covers: recent, end };
}

function compareRecent([timeA, a]: RecentCover, [timeB, b]: RecentCover): number {
  return timeB - timeA || b.length - a.length || (a < b ? 1 : a > b ? -1 : 0);
}

/** The packs of covers must be complete. @param ids of all covers */
export function writeRecentCovers(
  { dir, platforms, numbering, positions }: WriteSource,
  recent: readonly RecentCover[],
  ids: IdColumns,
): Promise<ManifestFile> {
  const { firstCoverOf } = numbering;
  const { byteOffset, byteLength } = positions.covers;
  const records = recent.slice(0, MOST_RECENT).map(([, id]) => {
    const number = findById(ids, splitId(id) ?? [0, 0]) ?? LEFT_OUT;
    const { slug } = platforms[firstCoverOf.findLastIndex((first) => first <= number)];
    const name = coversPack(slug);
    const bytes = Buffer.alloc(byteLength[number]);
    const descriptor = openSync(path.join(dir, name), 'r');
    try {
      readExactly(descriptor, bytes, 0, bytes.length, byteOffset[number], name);
    } finally {
      closeSync(descriptor);
    }
    return bytes.toString();
  });
  const { length } = records;
  return writeWhole(dir, COVERS_RECENT, [
    listHead(length),
    records.join(RECORD_SEPARATOR),
    listTail(length),
  ]);
}

const TOP_PLATFORMS = 10;

/** What the statistics count of a cover. */
interface CoverStats {
  readonly region: string | null;
  readonly type: string | null;
  readonly files: number;
}

/** @returns the file, and what the manifest says of the records */
export async function writeStats(source: CoverSource, recent: readonly RecentCover[]) {
  const { dir, platforms, covers, files, earlier } = source;
  const { firstGame, firstCover, firstCoverOf, itemOfGame, itemOfCover } = source.numbering;
  let gamesWithCovers = 0;
  for (let game = 0; game < itemOfGame.length; game++)
    if (firstCover[game + 1] > firstCover[game]) gamesWithCovers++;
  const before = earlier?.stats();
  const regions = new Map(before?.covers_by_region.map(({ region, covers }) => [region, covers]));
  const types = new Map(before?.covers_by_type.map(({ type, covers }) => [type, covers]));
  let coverFiles = earlier?.manifest.counts.cover_files ?? 0;
  const add = ({ region, type, files }: CoverStats, by: 1 | -1) => {
    regions.set(region, (regions.get(region) ?? 0) + by);
    types.set(type, (types.get(type) ?? 0) + by);
    coverFiles += files * by;
  };
  if (earlier !== undefined) for (const gone of coversNotKept(earlier)) add(gone, -1);
  for (let row = 0; row < covers.rows; row++) {
    if (covers.game[row] === LEFT_OUT) continue;
    const region = covers.regions[covers.region[row]];
    const type = covers.types[covers.type[row]];
    let count = 0;
    for (let file = covers.firstFile[row]; file !== LEFT_OUT; file = files.next[file]) count++;
    add({ region, type, files: count }, 1);
  }
  const counts: Omit<Counts, 'left_out'> = {
    platforms: platforms.length,
    games: itemOfGame.length,
    covers: itemOfCover.length,
    cover_files: coverFiles,
  };
  const latestCoverAt = encodeTime(recent[0]?.[0] ?? Number.NaN);
  const top = platforms
    .map(({ slug, name }, platform) => ({
      slug,
      name,
      games: firstGame[platform + 1] - firstGame[platform],
      covers: firstCoverOf[platform + 1] - firstCoverOf[platform],
    }))
    // Of equal ones, the order of platforms stays: the sort is stable.
    .sort((a, b) => b.covers - a.covers)
    .slice(0, TOP_PLATFORMS);
  const body = JSON.stringify({
    ...counts,
    games_with_covers: gamesWithCovers,
    covers_by_region: byCount(regions).map(([region, number]) => ({ region, covers: number })),
    covers_by_type: byCount(types).map(([type, number]) => ({ type, covers: number })),
    top_platforms: top,
    latest_cover_at: latestCoverAt,
  });
  return { file: await writeWhole(dir, STATS, [body]), counts, latestCoverAt };
}

/** The covers of the earlier generation whose games were read again, or are gone. */
function* coversNotKept({ index, isKept, record }: EarlierGeneration): Generator<CoverStats> {
  const { firstCover } = index.games;
  for (const [game, kept] of isKept.entries()) {
    if (kept === 1) continue;
    for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
      const { region, type, files } = JSON.parse(record('covers', cover));
      yield { region, type, files: files.length };
    }
  }
}

/** The most frequent value first. */
function byCount(counts: ReadonlyMap<string | null, number>): [value: string | null, number][] {
  return [...counts]
    .filter(([, number]) => number > 0)
    .sort(([a, left], [b, right]) => right - left || ((a ?? '\uffff') < (b ?? '\uffff') ? -1 : 1));
}

/** Whether a recent cover of the earlier run is still published as it was. */
export function isKeptCover({ index, isKept }: EarlierGeneration, id: string): boolean {
  const number = findById(index.covers, splitId(id) ?? [0, 0]);
  if (number === undefined) return false;
  const { firstCover } = index.games;
  const game = firstIndex(1, firstCover.length, (at) => firstCover[at] > number) - 1;
  return isKept[game] === 1;
}
