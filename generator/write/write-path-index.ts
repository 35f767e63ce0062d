/** Writes the index that finds games by their paths and ids. */
import { type Column, encodeColumns, type StoredColumn } from '../../format/index/columns.ts';
import { type GamePaths, makeSlots } from '../../format/index/record-index.ts';
import { PATH_INDEX } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import type { Games } from '../columns/catalogue.ts';
import { makeTextWriter, openTexts, type Texts } from '../columns/texts.ts';
import { keptRows, type Numbering } from '../order/numbering.ts';
import { writeWhole } from './file-writer.ts';
import { idColumns } from './id-columns.ts';

const PIECE_BYTES = 64 * 1024;

export function writePathIndex(
  dir: string,
  { ids, rows, platform, slugs }: Games,
  { rowOfGame, rowOfRank, numberOfGame }: Numbering,
): Promise<ManifestFile> {
  const gameOfRank = rowOfRank.map((row) => numberOfGame[row]);
  const rank = new Uint32Array(gameOfRank.length);
  gameOfRank.forEach((game, at) => {
    rank[game] = at;
  });
  const slugAt = openTexts(slugs, 'latin1');
  const platformOf = (number: number) => platform[rowOfGame[number]];
  const columns: Record<keyof GamePaths, Column | StoredColumn> = {
    rank,
    gameOfRank,
    ...slugColumns(slugs, rowOfGame),
    ...idColumns(ids, keptRows(platform.subarray(0, rows)), numberOfGame),
    slots: makeSlots(rowOfGame.length, platformOf, (number) => slugAt(rowOfGame[number])),
  };
  return writeWhole(dir, PATH_INDEX, encodeColumns(columns));
}

/** The slugs of the games in the order of their numbers, and where each of them starts. */
function slugColumns(slugs: Texts, rowOfGame: Uint32Array) {
  const { lengthOf, put } = makeTextWriter(slugs);
  const slugStart = new Uint32Array(rowOfGame.length + 1);
  rowOfGame.forEach((row, number) => {
    slugStart[number + 1] = slugStart[number] + lengthOf(row);
  });
  function* pieces(): Generator<Uint8Array> {
    let piece = new Uint8Array(PIECE_BYTES);
    let used = 0;
    for (const row of rowOfGame) {
      const length = lengthOf(row);
      if (used + length > piece.length) {
        yield piece.subarray(0, used);
        used = 0;
        if (length > piece.length) piece = new Uint8Array(length);
      }
      used = put(piece, used, row);
    }
    yield piece.subarray(0, used);
  }
  const slugText: StoredColumn = { type: 'u8', length: slugStart[rowOfGame.length], pieces };
  return { slugStart, slugText };
}
