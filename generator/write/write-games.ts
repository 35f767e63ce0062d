/**
 * Writes the packs of games, and the index that finds their records.
 */
import { encodeColumns } from '../../format/index/columns.ts';
import { type GamePaths, makeSlots } from '../../format/index/record-index.ts';
import { GAME_INDEX, gamesPack, PATH_INDEX } from '../../format/layout.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import { type Games, LEFT_OUT, type Platform } from '../columns/catalogue.ts';
import { putAscii, putBytes, putInteger } from '../columns/json-bytes.ts';
import { openSpillFile, type SpillContent } from '../columns/spill-file.ts';
import { makeTextWriter, openTexts } from '../columns/texts.ts';
import { keptRows, type Numbering } from '../order/numbering.ts';
import { encodeGameTail, encodePlatformRef, FIXED_BYTES, platformUrl } from '../read/records.ts';
import { type EarlierRecords, openRecords } from '../reuse/earlier-records.ts';
import { earlierNumber, type ReusedGames } from '../reuse/reuse.ts';
import { freeMemory } from '../worker/free-memory.ts';
import { type FileWriter, writeWhole } from './file-writer.ts';
import { idColumns } from './id-columns.ts';
import { linkEarlier, linkPack } from './link-pack.ts';
import { type CopySource, makeRecordColumns, namedAsInFile, writePack } from './packs.ts';

/**
 * @param heads the first part of each game's record, up to and including `publisher`; those of known games
 * are in their earlier records
 */
export async function writeGames(
  dir: string,
  platforms: readonly Platform[],
  games: Games,
  heads: SpillContent,
  numbering: Numbering,
  settings: Settings,
  reused?: ReusedGames,
): Promise<ManifestFile[]> {
  const files = await writeGamePacks(dir, platforms, games, heads, numbering, settings, reused);
  const linked = reused?.haveSameNumbers ? linkPaths(reused.earlier, dir) : undefined;
  if (linked !== undefined) return [...files, linked];
  // The positions of the records are not needed any more.
  freeMemory();
  return [...files, await writePaths(dir, games, numbering)];
}

/** Writes the packs, and the positions of their records. */
async function writeGamePacks(
  dir: string,
  platforms: readonly Platform[],
  games: Games,
  heads: SpillContent,
  numbering: Numbering,
  settings: Settings,
  reused?: ReusedGames,
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
      if (reused && source && reused.relation.isKnown[row] === 1) {
        const earlier = earlierNumber(reused.earlier.games.numberOf, reused.relation, row);
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
  return {
    numberOf(number) {
      const row = rowOfGame[number];
      if (relation.isKnown[row] === 0) return LEFT_OUT;
      const before = earlierNumber(earlier.games.numberOf, relation, row);
      const covers = firstCover[number + 1] - firstCover[number];
      const coversBefore = earlier.firstCover[before + 1] - earlier.firstCover[before];
      return covers === coversBefore ? before : LEFT_OUT;
    },
    records: earlier.games,
    pack: openRecords(earlier, 'games'),
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
  return linkPack(earlier, dir, gamesPack(slug), range, [first_game, games], columns, source);
}

function linkPaths({ dir: earlierDir, files }: EarlierRecords, dir: string) {
  return linkEarlier(earlierDir, files, dir, PATH_INDEX);
}

function writePaths(
  dir: string,
  games: Games,
  { rowOfGame, rowOfRank, numberOfGame, rankOfGame }: Numbering,
): Promise<ManifestFile> {
  const count = rowOfGame.length;
  const slugAt = openTexts(games.slugs, 'latin1');
  const slugs = makeTextWriter(games.slugs);
  const slugStart = new Uint32Array(count + 1);
  for (let number = 0; number < count; number++) {
    const length = slugs.lengthOf(rowOfGame[number]);
    slugStart[number + 1] = slugStart[number] + length;
  }
  const slugText = new Uint8Array(slugStart[count]);
  for (let number = 0; number < count; number++) {
    slugs.put(slugText, slugStart[number], rowOfGame[number]);
  }
  const platformOf = (number: number) => games.platform[rowOfGame[number]];
  const paths: GamePaths = {
    rank: rankOfGame,
    gameOfRank: rowOfRank.map((row) => numberOfGame[row]),
    slugStart,
    slugText,
    ...idColumns(games.ids, keptRows(games.platform.subarray(0, games.rows)), numberOfGame),
    slots: makeSlots(count, platformOf, (number) => slugAt(rowOfGame[number])),
  };
  return writeWhole(dir, PATH_INDEX, encodeColumns({ ...paths }));
}
