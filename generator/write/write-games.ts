/** Writes the packs of games, and the indexes that find their records. */
import { encodeColumns } from '../../format/index/columns.ts';
import { GAME_INDEX, gamesPack, PATH_INDEX } from '../../format/layout.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import { type Games, LEFT_OUT, type Platform } from '../columns/catalogue.ts';
import { putAscii, putBytes, putInteger } from '../columns/json-bytes.ts';
import { openSpillFile, type SpillContent } from '../columns/spill-file.ts';
import { makeTextWriter } from '../columns/texts.ts';
import type { Numbering } from '../order/numbering.ts';
import { encodeGameTail, encodePlatformRef, FIXED_BYTES, platformUrl } from '../read/records.ts';
import { type EarlierRecords, openEarlierGames, openRecords } from '../reuse/earlier-records.ts';
import { earlierNumber, type ReusedGames } from '../reuse/reuse.ts';
import { freeMemory } from '../worker/free-memory.ts';
import { type FileWriter, writeWhole } from './file-writer.ts';
import { linkEarlier, linkPack } from './link-pack.ts';
import { type CopySource, makeRecordColumns, namedAsInFile, writePack } from './packs.ts';
import { writePathIndex } from './write-path-index.ts';

/** The data from which the packs of games are written. */
export interface GameSource {
  readonly platforms: readonly Platform[];
  readonly games: Games;
  /**
   * The first part of each game's record, up to and including `publisher`. Those of known games are in
   * their earlier records.
   */
  readonly heads: SpillContent;
  readonly numbering: Numbering;
  readonly settings: Settings;
  /** Undefined if all rows were read. */
  readonly reused: ReusedGames | undefined;
}

export async function writeGames(dir: string, source: GameSource): Promise<ManifestFile[]> {
  const { games, numbering, reused } = source;
  const files = await writeGamePacks(dir, source);
  const linked = reused?.haveSameNumbers ? linkPathIndex(reused.earlier, dir) : undefined;
  if (linked !== undefined) return [...files, linked];
  // The positions of the records are not needed any more.
  freeMemory();
  return [...files, await writePathIndex(dir, games, numbering)];
}

/** Writes the packs, and the positions of their records. */
async function writeGamePacks(
  dir: string,
  { platforms, games, heads, numbering, settings, reused }: GameSource,
): Promise<ManifestFile[]> {
  const { rowOfGame, firstGame, firstCover } = numbering;
  const { headStart, headLength } = games;
  const slugs = makeTextWriter(games.slugs);
  const spill = openSpillFile(heads);
  const columns = makeRecordColumns(rowOfGame.length);
  const files: ManifestFile[] = [];
  const source = reused && copySource(reused, numbering);
  for (const [platform, { slug, name }] of platforms.entries()) {
    const reference = encodePlatformRef(slug, name);
    const tail = Buffer.from(encodeGameTail(reference, platformUrl(settings, slug)));
    const from = firstGame[platform];
    const to = firstGame[platform + 1];
    const linked =
      reused && source && linkPackOf(reused.earlier, platform, dir, [from, to], columns, source);
    if (linked !== undefined) {
      files.push(linked);
      continue;
    }
    const addRecord = (writer: FileWriter, number: number) => {
      const row = rowOfGame[number];
      const covers = firstCover[number + 1] - firstCover[number];
      const head = headLength[row];
      writer.reserve(head + FIXED_BYTES + tail.length + slugs.lengthOf(row));
      const { buffer } = writer;
      if (reused && source && reused.relation.isSame[row] === 1) {
        const earlier = earlierNumber(reused.earlier.numberOfGame, reused.relation, row);
        source.pack.read(earlier).copy(buffer, writer.at, 0, head);
      } else {
        spill.copy(platform, headStart[row], head, buffer, writer.at);
      }
      let end = putAscii(buffer, writer.at + head, ',"cover_count":');
      end = putInteger(buffer, end, covers);
      end = putBytes(buffer, end, tail);
      end = slugs.put(buffer, end, row);
      writer.at = putAscii(buffer, end, '"}');
    };
    files.push(await writePack(dir, gamesPack(slug), from, to, columns, addRecord, source));
  }
  source?.pack.close();
  spill.close();
  const positions = namedAsInFile({ ...columns, firstCover });
  files.push(await writeWhole(dir, GAME_INDEX, encodeColumns(positions)));
  return files;
}

/** A game is copied if neither its row nor the number of its covers has changed. */
function copySource(
  { earlier, relation }: ReusedGames,
  { rowOfGame, firstCover }: Numbering,
): CopySource {
  const positions = openEarlierGames(earlier);
  return {
    earlierNumberOf(number) {
      const row = rowOfGame[number];
      if (relation.isSame[row] === 0) return LEFT_OUT;
      const before = earlierNumber(earlier.numberOfGame, relation, row);
      const covers = firstCover[number + 1] - firstCover[number];
      const coversBefore = positions.firstCover[before + 1] - positions.firstCover[before];
      return covers === coversBefore ? before : LEFT_OUT;
    },
    records: positions,
    pack: openRecords(earlier, 'games', positions),
  };
}

function linkPackOf(
  earlier: EarlierRecords,
  platform: number,
  dir: string,
  range: readonly [number, number],
  columns: ReturnType<typeof makeRecordColumns>,
  source: CopySource,
): ManifestFile | undefined {
  const { slug, first_game, games } = earlier.platforms[platform];
  const earlierRange = [first_game, first_game + games] as const;
  return linkPack(earlier, dir, gamesPack(slug), range, earlierRange, columns, source);
}

function linkPathIndex({ dir: earlierDir, files }: EarlierRecords, dir: string) {
  return linkEarlier(earlierDir, files, dir, PATH_INDEX);
}
