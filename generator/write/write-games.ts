/**
 * Writes the packs of games and the index of their paths.
 */
import { encodeColumns } from '../../format/index/columns.ts';
import { type GameColumns, makeSlots } from '../../format/index/record-index.ts';
import { GAME_INDEX, gamesPack } from '../../format/layout.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import type { Games, Platform } from '../columns/catalogue.ts';
import { putAscii, putBytes, putInteger } from '../columns/json-bytes.ts';
import { openSpillFile, type SpillContent } from '../columns/spill-file.ts';
import { makeTextWriter, openTexts } from '../columns/texts.ts';
import { keptRows, type Numbering } from '../order/numbering.ts';
import { encodeGameTail, encodePlatformRef, FIXED_BYTES, platformUrl } from '../read/records.ts';
import { writeWhole } from './file-writer.ts';
import { idColumns } from './id-columns.ts';
import { makeRecordColumns, namedAsInFile, writePack } from './packs.ts';

/** @param heads the first part of each game's record, up to and including `publisher` */
export async function writeGames(
  dir: string,
  platforms: readonly Platform[],
  games: Games,
  heads: SpillContent,
  numbering: Numbering,
  settings: Settings,
): Promise<ManifestFile[]> {
  const { rowOfGame, firstGame, firstCover } = numbering;
  const { headStart, headLength } = games;
  const slugs = makeTextWriter(games.slugs);
  const spill = openSpillFile(heads);
  const columns = makeRecordColumns(rowOfGame.length);
  const files: ManifestFile[] = [];
  for (const [platform, { slug, name }] of platforms.entries()) {
    const reference = encodePlatformRef(slug, name);
    const tail = Buffer.from(encodeGameTail(reference, platformUrl(settings, slug)));
    const from = firstGame[platform];
    const to = firstGame[platform + 1];
    const pack = writePack(dir, gamesPack(slug), from, to, columns, (writer, number) => {
      const row = rowOfGame[number];
      const covers = firstCover[number + 1] - firstCover[number];
      const head = headLength[row];
      writer.reserve(head + FIXED_BYTES + tail.length + slugs.lengthOf(row));
      const { buffer } = writer;
      spill.copy(platform, headStart[row], head, buffer, writer.at);
      let end = putAscii(buffer, writer.at + head, ',"cover_count":');
      end = putInteger(buffer, end, covers);
      end = putBytes(buffer, end, tail);
      end = slugs.put(buffer, end, row);
      writer.at = putAscii(buffer, end, '"}');
    });
    files.push(await pack);
  }
  files.push(await writeIndex(dir, games, numbering, columns));
  return files;
}

function writeIndex(
  dir: string,
  games: Games,
  { rowOfGame, rowOfRank, numberOfGame, rankOfGame, firstCover }: Numbering,
  columns: ReturnType<typeof makeRecordColumns>,
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
  const all: GameColumns = {
    ...columns,
    rank: rankOfGame,
    gameOfRank: rowOfRank.map((row) => numberOfGame[row]),
    firstCover,
    slugStart,
    slugText,
    ...idColumns(games.ids, keptRows(games.platform.subarray(0, games.rows)), numberOfGame),
    slots: makeSlots(count, platformOf, (number) => slugAt(rowOfGame[number])),
  };
  return writeWhole(dir, GAME_INDEX, encodeColumns(namedAsInFile(all)));
}
