/**
 * Writes `platforms.json` and `covers-recent.json`, which are complete response bodies, and the index of
 * platforms.
 */
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { hashBytes } from '../../format/content-hash.ts';
import {
  encodePlatforms,
  type PlatformEntry,
  type RecordColumns,
} from '../../format/index/record-index.ts';
import { COVERS_RECENT, coversPack, PLATFORM_INDEX, PLATFORMS } from '../../format/layout.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import { listHead, listTail, RECORD_SEPARATOR } from '../../format/pack.ts';
import { readExactly } from '../../store/files/read-exactly.ts';
import type { Covers, Games, Platform } from '../columns/catalogue.ts';
import type { Numbering } from '../order/numbering.ts';
import { encodePlatform, platformUrl } from '../read/records.ts';
import { writeFile, writeWhole } from './file-writer.ts';

const MOST_RECENT_COVERS = 100;

export async function writePlatforms(
  dir: string,
  platforms: readonly Platform[],
  { firstGame, firstCover }: Numbering,
  settings: Settings,
): Promise<ManifestFile[]> {
  const entries: PlatformEntry[] = [];
  const writer = writeFile(dir, PLATFORMS);
  writer.add(listHead(platforms.length));
  platforms.forEach(({ slug, name }, platform) => {
    const first_game = firstGame[platform];
    const games = firstGame[platform + 1] - first_game;
    const first_cover = firstCover[first_game];
    const covers = firstCover[first_game + games] - first_cover;
    const record = encodePlatform(slug, name, games, covers, platformUrl(settings, slug));
    if (platform > 0) writer.add(RECORD_SEPARATOR);
    const offset = writer.end();
    const length = Buffer.byteLength(record);
    const hash = hashBytes(record);
    entries.push({ slug, name, first_game, games, first_cover, covers, offset, length, hash });
    writer.add(record);
  });
  writer.add(listTail(platforms.length));
  return [await writer.finish(), await writeWhole(dir, PLATFORM_INDEX, [encodePlatforms(entries)])];
}

/**
 * Writes the covers that were approved most recently, the latest first. Of two covers approved at the
 * same time, the one with the higher id is first. Covers without a time never appear.
 * @param columns the positions of the covers in the packs, which must be complete
 */
export async function writeRecentCovers(
  dir: string,
  platforms: readonly Platform[],
  games: Games,
  covers: Covers,
  { rowOfCover }: Numbering,
  columns: RecordColumns,
): Promise<ManifestFile> {
  const recent = findRecent(covers, rowOfCover);
  const writer = writeFile(dir, COVERS_RECENT);
  writer.add(listHead(recent.length));
  recent.forEach((number, at) => {
    if (at > 0) writer.add(RECORD_SEPARATOR);
    const game = covers.game[rowOfCover[number]];
    const { slug } = platforms[games.platform[game]];
    const offset = columns.byteOffset[number];
    writer.add(readPiece(dir, coversPack(slug), offset, columns.byteLength[number]));
  });
  writer.add(listTail(recent.length));
  return writer.finish();
}

/** The numbers of the most recently approved covers, in the order of the list. */
function findRecent({ approvedAt }: Covers, rowOfCover: Uint32Array): number[] {
  const timeOf = (number: number) => approvedAt[rowOfCover[number]];
  const isNewer = (a: number, b: number) =>
    timeOf(a) > timeOf(b) || (timeOf(a) === timeOf(b) && rowOfCover[a] > rowOfCover[b]);
  const recent: number[] = [];
  for (let number = 0; number < rowOfCover.length; number++) {
    const time = timeOf(number);
    if (Number.isNaN(time)) continue;
    if (recent.length === MOST_RECENT_COVERS && !isNewer(number, recent.at(-1) as number)) continue;
    const at = recent.findIndex((other) => isNewer(number, other));
    recent.splice(at < 0 ? recent.length : at, 0, number);
    if (recent.length > MOST_RECENT_COVERS) recent.pop();
  }
  return recent;
}

function readPiece(dir: string, name: string, offset: number, length: number): Buffer {
  const descriptor = openSync(path.join(dir, name), 'r');
  try {
    const bytes = Buffer.alloc(length);
    readExactly(descriptor, bytes, 0, length, offset, name);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}
