/** Writes every file of a generation except its manifest: first packs, then what finds their records, then lists. */

import { optionsAsData } from '../../find/search/minisearch-options.ts';
import type { GameNumber } from '../../lib/columns/numbers.ts';
import { at, next } from '../../lib/columns/numbers.ts';
import { encodeIndex } from '../../lib/format/index/index-file.ts';
import * as layout from '../../lib/format/layout.ts';
import type { ManifestContent, ManifestFile } from '../../lib/format/manifest.ts';
import { rowOf } from '../rows/catalogue.ts';
import type { CoverItem, CoverNumber, GameItem, PlatformNumber } from '../rows/numbers.ts';
import type { Output } from './file-writer.ts';
import { coverColumns, filterColumns, gameColumns, pathColumns, titleColumns } from './indexes.ts';
import { findRecent, makeStats, platformsBody, recentBody, writeTitleLists } from './lists.ts';
import type { PackSource, WriteSource } from './packs.ts';
import { linkSame, makePositions, writePack } from './packs.ts';
import { writeTitleFiles } from './titles.ts';

/** What was written, without what the report adds. */
export type Written = Pick<ManifestContent, 'files' | 'latest_cover_at'> & {
  readonly counts: Omit<ManifestContent['counts'], 'left_out'>;
};

/** @returns what was written; all files are on disk */
export async function writeGeneration(
  output: Output,
  catalogue: Omit<WriteSource, 'positions'>,
): Promise<Written> {
  const { packs, positions } = await writePacks(output, catalogue);
  const source = { ...catalogue, positions };
  const writeColumns = (name: string, columnsOf: (source: WriteSource) => object) =>
    linkSame(source, name) ?? output.write(name, encodeIndex(columnsOf(source)));
  const filters = filterColumns(source);
  const titles = titleColumns(source);
  const recent = findRecent(source.covers);
  const { body: stats, ...summary } = makeStats(source, recent);
  const files = [
    ...packs,
    await writeColumns(layout.GAME_INDEX, gameColumns),
    await writeColumns(layout.PATH_INDEX, pathColumns),
    await writeColumns(layout.TITLE_INDEX, () => titles),
    ...(await writeTitleLists(output, source, titles)),
    await writeColumns(layout.FILTER_INDEX, () => filters),
    await writeColumns(layout.COVER_INDEX, () => coverColumns(source, filters)),
    ...(await writeTitleFiles(output, source)),
    await output.write(layout.MINISEARCH_OPTIONS_FILE, [optionsAsData()]),
    await output.write(layout.COVERS_RECENT, [recentBody(output, source, recent)]),
    await output.write(layout.PLATFORMS, [platformsBody(source)]),
    await output.write(layout.STATS, [stats]),
  ];
  await output.allSynced();
  return { files, ...summary };
}

async function writePacks(output: Output, catalogue: Omit<WriteSource, 'positions'>) {
  const { platforms, games, covers, records, numbering, stored } = catalogue;
  const { firstGame, firstCoverOfGame, firstCoverOfPlatform, itemOfGame, itemOfCover } = numbering;
  const positions = makePositions(numbering);
  const ofGames: PackSource<GameNumber, GameItem> = {
    itemOf: itemOfGame,
    record: games.record,
    before: stored?.index.games,
    positions: positions.games,
    add(target, game, number) {
      const count = firstCoverOfGame[next(number)] - firstCoverOfGame[number];
      records.addGame(target, rowOf(game, games.firstRow), count);
    },
  };
  const ofCovers: PackSource<CoverNumber, CoverItem> = {
    itemOf: itemOfCover,
    record: covers.record,
    before: stored?.index.covers,
    positions: positions.covers,
    add: (target, cover) => records.addCover(target, rowOf(cover, covers.firstRow)),
  };
  const packs: ManifestFile[] = [];
  for (const [index, { slug }] of platforms.entries()) {
    const [from, to] = [at<PlatformNumber>(index), at<PlatformNumber>(index + 1)];
    const [game, lastGame] = [firstGame[from], firstGame[to]];
    packs.push(await writePack(output, stored, layout.gamesPack(slug), ofGames, game, lastGame));
    const [cover, lastCover] = [firstCoverOfPlatform[from], firstCoverOfPlatform[to]];
    packs.push(
      await writePack(output, stored, layout.coversPack(slug), ofCovers, cover, lastCover),
    );
  }
  return { packs, positions };
}
