/** Writes every file of a generation except its manifest, in three steps: each needs more than the one before. */
import { coversPack, gamesPack } from '../../lib/format/layout.ts';
import type { ManifestContent, ManifestFile } from '../../lib/format/manifest.ts';
import { rowOf } from '../rows/catalogue.ts';
import { at, next, type PlatformNumber } from '../rows/columns.ts';
import { makeCoverRecords, makeGameRecords } from '../rows/records.ts';
import type { Output } from './file-writer.ts';
import {
  writeCoverIndex,
  writeFilters,
  writeGameIndex,
  writePathIndex,
  writeTitles,
} from './indexes.ts';
import { findRecent, writePlatforms, writeRecentCovers, writeStats } from './lists.ts';
import { type CoverSource, type WriteSource, writePack } from './packs.ts';
import { writeSearch } from './search.ts';

/** Writes the packs of games, and all that can be written without the files of covers. */
export async function writeGames(output: Output, source: WriteSource): Promise<ManifestFile[]> {
  const { settings, platforms, games, numbering, positions, stored } = source;
  const { firstGame, firstCover, itemOfGame } = numbering;
  const addGame = makeGameRecords(settings, platforms, games.rows);
  const files: ManifestFile[] = [];
  for (const [index, { slug }] of platforms.entries()) {
    const platform = at<PlatformNumber>(index);
    const pack = writePack(output, stored, {
      name: gamesPack(slug),
      from: firstGame[platform],
      to: firstGame[next(platform)],
      itemOf: itemOfGame,
      records: stored?.games,
      positions: positions.games,
      add: (target, game, number) =>
        addGame(target, rowOf(game, games.firstRow), firstCover[next(number)] - firstCover[number]),
    });
    files.push(await pack);
  }
  return [
    ...files,
    await writeGameIndex(output, source),
    await writePathIndex(output, source),
    await writeTitles(output, source),
    await writeFilters(output, source),
    ...(await writeSearch(output, source)),
  ];
}

/**
 * Writes packs of covers, while there are any: threads can share the work.
 * @param taken one entry, shared: how many packs were taken
 */
export async function writeCoverPacks(
  output: Output,
  source: CoverSource,
  taken: Int32Array,
): Promise<ManifestFile[]> {
  const { settings, platforms, games, covers, files, positions, stored } = source;
  const { firstCoverOf, itemOfCover } = source.numbering;
  const coversOf = (index: number) => {
    const platform = at<PlatformNumber>(index);
    return firstCoverOf[next(platform)] - firstCoverOf[platform];
  };
  // The largest first, so that all threads end at about the same time.
  const order = [...platforms.keys()].sort((a, b) => coversOf(b) - coversOf(a));
  const addCover = makeCoverRecords(settings, platforms, games.rows, covers.rows, files);
  const written: ManifestFile[] = [];
  for (
    let index = Atomics.add(taken, 0, 1);
    index < order.length;
    index = Atomics.add(taken, 0, 1)
  ) {
    const platform = at<PlatformNumber>(order[index]);
    const pack = writePack(output, stored, {
      name: coversPack(platforms[platform].slug),
      from: firstCoverOf[platform],
      to: firstCoverOf[next(platform)],
      itemOf: itemOfCover,
      records: stored?.covers,
      positions: positions.covers,
      add: (target, cover) => addCover(target, rowOf(cover, covers.firstRow)),
    });
    written.push(await pack);
  }
  return written;
}

/** What was written, without what the report adds. */
export type Written = Pick<ManifestContent, 'files' | 'latest_cover_at'> & {
  readonly counts: Omit<ManifestContent['counts'], 'left_out'>;
};

/** Writes what needs all packs. @param files those that are written already */
export async function writeLists(
  output: Output,
  source: CoverSource,
  files: readonly ManifestFile[],
): Promise<Written> {
  const recent = findRecent(source.covers);
  const { file: stats, ...summary } = await writeStats(output, source, recent);
  const others = [
    await writeCoverIndex(output, source),
    await writeRecentCovers(output, source, recent),
    await writePlatforms(output, source),
  ];
  return { files: [...files, stats, ...others], ...summary };
}
