/**
 * Writes the files that are complete response bodies: `platforms.json`, `covers-recent.json` and
 * `stats.json`.
 */
import { compareIds, type Id } from '../../lib/format/index/ids.ts';
import { COVERS_RECENT, coversPack, PLATFORMS, STATS } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { listHead, listTail, RECORD_SEPARATOR } from '../../lib/format/pack.ts';
import type { Covers } from '../rows/catalogue.ts';
import { compareUnits } from '../rows/collation.ts';
import { at, type CoverItem, next, type PlatformNumber } from '../rows/columns.ts';
import { idOf } from '../rows/ids.ts';
import { encodePlatform, platformUrl } from '../rows/records.ts';
import { encodeTime } from '../rows/times.ts';
import type { Output } from './file-writer.ts';
import type { WriteSource } from './packs.ts';

/** Each platform, with how many games and covers it has. */
function countPlatforms({ platforms, numbering }: WriteSource) {
  const { firstGame, firstCoverOf } = numbering;
  return platforms.map(({ slug, name }, index) => {
    const [from, to] = [at<PlatformNumber>(index), at<PlatformNumber>(index + 1)];
    const games = firstGame[to] - firstGame[from];
    return { slug, name, games, covers: firstCoverOf[to] - firstCoverOf[from] };
  });
}

export function writePlatforms(output: Output, source: WriteSource): Promise<ManifestFile> {
  const records = countPlatforms(source).map(({ slug, name, games, covers }) =>
    encodePlatform(slug, name, games, covers, platformUrl(source.settings, slug)),
  );
  return writeList(output, PLATFORMS, records);
}

function writeList(
  output: Output,
  name: string,
  records: readonly string[],
): Promise<ManifestFile> {
  const { length } = records;
  return output.write(name, [listHead(length), records.join(RECORD_SEPARATOR), listTail(length)]);
}

const MOST_RECENT = 100;

/**
 * The covers that were approved most recently, the latest first. Of two that were approved at the same time, the
 * one with the higher id is first. Those without a time are not among them.
 */
export function findRecent({ byId, ids, approvedAt }: Covers): CoverItem[] {
  let recent: { cover: CoverItem; time: number; id: Id }[] = [];
  let earliest = Number.NEGATIVE_INFINITY;
  const cut = () => {
    recent.sort((a, b) => b.time - a.time || compareIds(b.id, a.id));
    recent = recent.slice(0, MOST_RECENT);
    if (recent.length === MOST_RECENT) earliest = recent[MOST_RECENT - 1].time;
  };
  for (const cover of byId) {
    const time = approvedAt[cover];
    if (!(time >= earliest)) continue;
    if (recent.push({ cover, time, id: idOf(ids, cover) }) === MOST_RECENT * 10) cut();
  }
  cut();
  return recent.map(({ cover }) => cover);
}

/** The packs of covers must be complete. */
export function writeRecentCovers(
  output: Output,
  source: WriteSource,
  recent: readonly CoverItem[],
): Promise<ManifestFile> {
  const { platforms, numbering, positions } = source;
  const { firstCoverOf, numberOfCover } = numbering;
  const { byteOffset, byteLength } = positions.covers;
  const records = recent.map((cover) => {
    const number = numberOfCover[cover];
    const platform = [...firstCoverOf].findLastIndex((first) => first <= number);
    const name = coversPack(platforms[platform].slug);
    return output.readPart(name, byteOffset[number], byteLength[number]).toString();
  });
  return writeList(output, COVERS_RECENT, records);
}

const TOP_PLATFORMS = 10;

/** @returns the file, and what the manifest says of the records */
export async function writeStats(
  output: Output,
  source: WriteSource,
  [latest]: readonly CoverItem[],
) {
  const { covers, numbering } = source;
  const { firstCover, itemOfGame } = numbering;
  let gamesWithCovers = 0;
  itemOfGame.forEach((_, game) => {
    if (firstCover[next(game)] > firstCover[game]) gamesWithCovers++;
  });
  const ofRegions = new Uint32Array(covers.regions.length);
  const ofTypes = new Uint32Array(covers.types.length);
  let coverFiles = 0;
  for (const cover of covers.byId) {
    ofRegions[covers.region[cover]]++;
    ofTypes[covers.type[cover]]++;
    coverFiles += covers.files[cover];
  }
  const platforms = countPlatforms(source);
  const counts = {
    platforms: platforms.length,
    games: itemOfGame.length,
    covers: covers.byId.length,
    cover_files: coverFiles,
  };
  const latest_cover_at = latest === undefined ? null : encodeTime(covers.approvedAt[latest]);
  const body = JSON.stringify({
    ...counts,
    games_with_covers: gamesWithCovers,
    covers_by_region: byCount(covers.regions, ofRegions, (region, covers) => ({ region, covers })),
    covers_by_type: byCount(covers.types, ofTypes, (type, covers) => ({ type, covers })),
    // Of equal ones, the order of platforms stays: the sort is stable.
    top_platforms: platforms.sort((a, b) => b.covers - a.covers).slice(0, TOP_PLATFORMS),
    latest_cover_at,
  });
  return { file: await output.write(STATS, [body]), counts, latest_cover_at };
}

/** What `describe` says of each value that covers have; the most frequent first. */
function byCount<T>(
  values: readonly (string | null)[],
  counts: Uint32Array,
  describe: (value: string | null, covers: number) => T,
): T[] {
  const last = '\uffff';
  return [...values.keys()]
    .filter((index) => counts[index] > 0)
    .sort((a, b) => counts[b] - counts[a] || compareUnits(values[a] ?? last, values[b] ?? last))
    .map((index) => describe(values[index], counts[index]));
}
