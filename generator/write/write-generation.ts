/** Writes every file of a generation except its manifest: first packs, then what finds their records, then lists. */
import { encodeColumns } from '../../lib/format/index/columns.ts';
import {
  COVER_INDEX,
  coversPack,
  FILTER_INDEX,
  GAME_INDEX,
  gamesPack,
  PATH_INDEX,
  TITLE_INDEX,
} from '../../lib/format/layout.ts';
import type { ManifestContent, ManifestFile } from '../../lib/format/manifest.ts';
import { rowOf } from '../rows/catalogue.ts';
import { at, next, type PlatformNumber } from '../rows/columns.ts';
import type { Output } from './file-writer.ts';
import { coverColumns, filterColumns, gameColumns, pathColumns, titleColumns } from './indexes.ts';
import { findRecent, writePlatforms, writeRecentCovers, writeStats } from './lists.ts';
import { linkSame, makePositions, type WriteSource, writePack } from './packs.ts';
import { writeSearch } from './search.ts';

/** What was written, without what the report adds. */
export type Written = Pick<ManifestContent, 'files' | 'latest_cover_at'> & {
  readonly counts: Omit<ManifestContent['counts'], 'left_out'>;
};

/** @returns what was written; all files are on disk */
export async function writeGeneration(
  output: Output,
  unwritten: Omit<WriteSource, 'positions'>,
): Promise<Written> {
  const source = { ...unwritten, positions: makePositions(unwritten.numbering) };
  const packs = await writePacks(output, source);
  const writeColumns = (name: string, columnsOf: (source: WriteSource) => object) =>
    linkSame(source, name) ?? output.write(name, encodeColumns(columnsOf(source)));
  const recent = findRecent(source.covers);
  const { file: stats, ...summary } = await writeStats(output, source, recent);
  const files = [
    ...packs,
    await writeColumns(GAME_INDEX, gameColumns),
    await writeColumns(PATH_INDEX, pathColumns),
    await writeColumns(TITLE_INDEX, titleColumns),
    await writeColumns(FILTER_INDEX, filterColumns),
    await writeColumns(COVER_INDEX, coverColumns),
    ...(await writeSearch(output, source)),
    await writeRecentCovers(output, source, recent),
    await writePlatforms(output, source),
    stats,
  ];
  await output.allSynced();
  return { files, ...summary };
}

async function writePacks(output: Output, source: WriteSource): Promise<ManifestFile[]> {
  const { platforms, games, covers, records, numbering, positions, stored } = source;
  const { firstGame, firstCover, firstCoverOf, itemOfGame, itemOfCover } = numbering;
  const files: ManifestFile[] = [];
  for (const [index, { slug }] of platforms.entries()) {
    const [platform, end] = [at<PlatformNumber>(index), at<PlatformNumber>(index + 1)];
    const ofGames = writePack(output, stored, {
      name: gamesPack(slug),
      from: firstGame[platform],
      to: firstGame[end],
      itemOf: itemOfGame,
      record: games.record,
      before: stored?.index.games,
      positions: positions.games,
      add(target, game, number) {
        const count = firstCover[next(number)] - firstCover[number];
        records.addGame(target, rowOf(game, games.firstRow), count);
      },
    });
    files.push(await ofGames);
    const ofCovers = writePack(output, stored, {
      name: coversPack(slug),
      from: firstCoverOf[platform],
      to: firstCoverOf[end],
      itemOf: itemOfCover,
      record: covers.record,
      before: stored?.index.covers,
      positions: positions.covers,
      add: (target, cover) => records.addCover(target, rowOf(cover, covers.firstRow)),
    });
    files.push(await ofCovers);
  }
  return files;
}
