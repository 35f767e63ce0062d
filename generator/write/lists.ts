/**
 * Makes the files that are complete response bodies: `platforms.json`, `covers-recent.json` and
 * `stats.json`; and writes the alternative titles of each platform for readers of copies.
 */

import { numbersOf } from '../../lib/columns/columns.ts';
import { type GameNumber, next, numberAt } from '../../lib/columns/numbers.ts';
import { compareIds, textOfId } from '../../lib/format/index/ids.ts';
import { type TitleColumns, titleLists } from '../../lib/format/index/titles.ts';
import { coversPack, TITLE_INDEX, titleList } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { listHead, listTail, RECORD_SEPARATOR } from '../../lib/format/pack.ts';
import { readPart } from '../../lib/generations/files/checked-files.ts';
import { platformUrl } from '../rows/addresses.ts';
import type { CoverItem, Covers, PlatformNumber } from '../rows/catalogue.ts';
import { idOf } from '../rows/ids.ts';
import { compareUnits, encodeTime } from '../rows/values.ts';
import type { Output } from './file-writer.ts';
import type { PackedCatalogue } from './packs.ts';

/** Each platform, with how many games and covers it has. */
function countPlatforms({ platforms, numbering }: PackedCatalogue) {
  const { firstGame, firstCoverOfPlatform } = numbering;
  return platforms.map(({ slug, name }, index) => {
    const [from, to] = [numberAt<PlatformNumber>(index), numberAt<PlatformNumber>(index + 1)];
    const games = firstGame[to] - firstGame[from];
    const covers = firstCoverOfPlatform[to] - firstCoverOfPlatform[from];
    return { slug, name: name.toWellFormed(), games, covers };
  });
}

export function platformsBody(catalogue: PackedCatalogue): string {
  const records = countPlatforms(catalogue).map(({ slug, name, games, covers }, at) => {
    const url = platformUrl(catalogue.settings, catalogue.platforms[at]);
    return JSON.stringify({ slug, name, game_count: games, cover_count: covers, url });
  });
  return listBody(records);
}

function listBody(records: readonly string[]): string {
  const { length } = records;
  return listHead(length) + records.join(RECORD_SEPARATOR) + listTail(length);
}

const MOST_RECENT = 100;

/**
 * The covers that were approved most recently, the latest first. Of two that were approved at the same time, the
 * one with the higher id is first. Those without a time are not among them.
 */
export function findRecent({ byId, ids, approvedAt }: Covers): CoverItem[] {
  const found: CoverItem[] = [];
  const cut = () => {
    found.sort((a, b) => approvedAt[b] - approvedAt[a] || compareIds(idOf(ids, b), idOf(ids, a)));
    found.length = Math.min(found.length, MOST_RECENT);
  };
  let earliest = Number.NEGATIVE_INFINITY;
  // Most covers with high ids were approved late, so nearly all others are skipped.
  for (let position = byId.length - 1; position >= 0; position--) {
    const cover = byId[position];
    if (!(approvedAt[cover] >= earliest)) continue;
    if (found.push(cover) < MOST_RECENT * 2) continue;
    cut();
    earliest = approvedAt[found[MOST_RECENT - 1]];
  }
  cut();
  return found;
}

export function recentBody(
  output: Output,
  { platforms, numbering, positions }: PackedCatalogue,
  recent: readonly CoverItem[],
): string {
  const { firstCoverOfPlatform, numberOfCover } = numbering;
  const { byteOffset, byteLength } = positions.covers;
  const records = recent.map((cover) => {
    const number = numberOfCover[cover];
    const platform = [...firstCoverOfPlatform].findLastIndex((first) => first <= number);
    const name = coversPack(platforms[platform].slug);
    return readPart(output.dir, name, byteOffset[number], byteLength[number]).toString();
  });
  return listBody(records);
}

const TOP_PLATFORMS = 10;

/** @returns the body of `stats.json`, and what the manifest says of the records */
export function makeStats(catalogue: PackedCatalogue, [latest]: readonly CoverItem[]) {
  const { covers, numbering } = catalogue;
  const { firstCoverOfGame, itemOfGame } = numbering;
  let [gamesWithCovers, coverFiles] = [0, 0];
  for (let game = numberAt<GameNumber>(0); game < itemOfGame.length; game++)
    if (firstCoverOfGame[next(game)] > firstCoverOfGame[game]) gamesWithCovers++;
  for (let position = 0; position < covers.byId.length; position++)
    coverFiles += covers.files[covers.byId[position]];
  const platforms = countPlatforms(catalogue);
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
    covers_by_region: countsOf('region', covers),
    covers_by_type: countsOf('type', covers),
    // Of equal ones, the order of platforms stays: the sort is stable.
    top_platforms: platforms.sort((a, b) => b.covers - a.covers).slice(0, TOP_PLATFORMS),
    latest_cover_at,
  });
  return { body, counts, latest_cover_at };
}

function countsOf(name: 'region' | 'type', covers: Covers) {
  return countValues(name, covers).map(([value, count]) => ({ [name]: value, covers: count }));
}

/** How many covers have each value, the most frequent first. */
export function countValues(
  name: 'region' | 'type',
  { byId, values }: Covers,
): (readonly [value: string | null, covers: number])[] {
  const { texts, column } = values[name];
  const counts = new Uint32Array(texts.length);
  for (let position = 0; position < byId.length; position++) counts[column[byId[position]]]++;
  const last = '\uffff';
  return [...texts.keys()]
    .filter((index) => counts[index] > 0)
    .sort((a, b) => counts[b] - counts[a] || compareUnits(texts[a] ?? last, texts[b] ?? last))
    .map((index) => [texts[index], counts[index]] as const);
}

/** Writes the alternative titles of the games of each platform that has some, or links them. */
export async function writeTitleLists(
  output: Output,
  { platforms, games, numbering, sameFiles, source }: PackedCatalogue,
  titles: TitleColumns,
): Promise<ManifestFile[]> {
  const idOfGame = (game: number) =>
    textOfId(idOf(games.ids, numbering.itemOfGame[numberAt<GameNumber>(game)]));
  const files: ManifestFile[] = [];
  for (const [platform, content] of titleLists(titles, numbersOf(numbering.firstGame), idOfGame)) {
    const name = titleList(platforms[platform].slug);
    const linked = sameFiles.has(TITLE_INDEX) ? source?.link(name) : undefined;
    files.push(linked ?? (await output.write(name, [content()])));
  }
  return files;
}
