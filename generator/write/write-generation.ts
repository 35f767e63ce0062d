/** Writes every file of a generation except its manifest: first packs, then what finds their records, then lists. */

import { optionsAsData, type TextTarget } from '../../find/search/minisearch.ts';
import { type TitleFiles, writeTitles } from '../../find/write.ts';
import { numbersOf, through } from '../../lib/columns/columns.ts';
import type { GameNumber, Rank } from '../../lib/columns/numbers.ts';
import { next, numberAt } from '../../lib/columns/numbers.ts';
import { textOfId } from '../../lib/format/index/ids.ts';
import { encodeIndex, openIndexFile } from '../../lib/format/index/index-file.ts';
import * as layout from '../../lib/format/layout.ts';
import type { ManifestContent, ManifestFile } from '../../lib/format/manifest.ts';
import type { NumberedCatalogue } from '../order/numbering.ts';
import type { CoverItem, CoverNumber, GameItem, PlatformNumber } from '../rows/catalogue.ts';
import { rowOf } from '../rows/catalogue.ts';
import { idOf } from '../rows/ids.ts';
import type { Output } from './file-writer.ts';
import { coverColumns, filterColumns, gameColumns, pathColumns, titleColumns } from './indexes.ts';
import { findRecent, makeStats, platformsBody, recentBody, writeTitleLists } from './lists.ts';
import type { PackedCatalogue, PackRecords } from './packs.ts';
import { linkSame, makePositions, writePack } from './packs.ts';

/** What was written, without what the report adds. */
export type Written = Pick<ManifestContent, 'files' | 'latest_cover_at'> & {
  readonly counts: Omit<ManifestContent['counts'], 'left_out'>;
};

/** @returns what was written; all files are on disk */
export async function writeGeneration(
  output: Output,
  numbered: NumberedCatalogue,
): Promise<Written> {
  const { packs, positions } = await writePacks(output, numbered);
  const catalogue = { ...numbered, positions };
  const writeColumns = (name: string, columnsOf: (catalogue: PackedCatalogue) => object) =>
    linkSame(catalogue, name) ?? output.write(name, encodeIndex(columnsOf(catalogue)));
  const filters = filterColumns(catalogue);
  const titles = titleColumns(catalogue);
  const recent = findRecent(catalogue.covers);
  const { body: stats, ...summary } = makeStats(catalogue, recent);
  const files = [
    ...packs,
    await writeColumns(layout.GAME_INDEX, gameColumns),
    await writeColumns(layout.PATH_INDEX, pathColumns),
    await writeColumns(layout.TITLE_INDEX, () => titles),
    ...(await writeTitleLists(output, catalogue, titles)),
    await writeColumns(layout.FILTER_INDEX, () => filters),
    await writeColumns(layout.COVER_INDEX, () => coverColumns(catalogue, filters)),
    ...(await writeTitleFiles(output, catalogue)),
    await output.write(layout.MINISEARCH_OPTIONS_FILE, [optionsAsData()]),
    await output.write(layout.COVERS_RECENT, [recentBody(output, catalogue, recent)]),
    await output.write(layout.PLATFORMS, [platformsBody(catalogue)]),
    await output.write(layout.STATS, [stats]),
  ];
  await output.allSynced();
  return { files, ...summary };
}

async function writePacks(output: Output, catalogue: NumberedCatalogue) {
  const { platforms, games, covers, records, numbering, source } = catalogue;
  const { firstGame, firstCoverOfGame, firstCoverOfPlatform, itemOfGame, itemOfCover } = numbering;
  const positions = makePositions(numbering);
  const ofGames: PackRecords<GameNumber, GameItem> = {
    itemOf: itemOfGame,
    record: games.record,
    before: source?.index.games,
    positions: positions.games,
    add(target, game, number) {
      const count = firstCoverOfGame[next(number)] - firstCoverOfGame[number];
      records.addGame(target, rowOf(game, games.firstRow), count);
    },
  };
  const ofCovers: PackRecords<CoverNumber, CoverItem> = {
    itemOf: itemOfCover,
    record: covers.record,
    before: source?.index.covers,
    positions: positions.covers,
    add: (target, cover) => records.addCover(target, rowOf(cover, covers.firstRow)),
  };
  const packs: ManifestFile[] = [];
  for (const [index, { slug }] of platforms.entries()) {
    const [from, to] = [numberAt<PlatformNumber>(index), numberAt<PlatformNumber>(index + 1)];
    const [game, lastGame] = [firstGame[from], firstGame[to]];
    packs.push(await writePack(output, source, layout.gamesPack(slug), ofGames, game, lastGame));
    const [cover, lastCover] = [firstCoverOfPlatform[from], firstCoverOfPlatform[to]];
    packs.push(
      await writePack(output, source, layout.coversPack(slug), ofCovers, cover, lastCover),
    );
  }
  return { packs, positions };
}

/** Writes the files that find games by their titles, or links them. */
async function writeTitleFiles(
  output: Output,
  catalogue: PackedCatalogue,
): Promise<ManifestFile[]> {
  /** Links all of some files, which are written together, or none. */
  const link = (...names: string[]): ManifestFile[] => {
    const files = names.flatMap((name) => linkSame(catalogue, name) ?? []);
    if (files.length === names.length) return files;
    for (const { path: name } of files) output.remove(name);
    return [];
  };
  const linkedWords = link(layout.WORD_INDEX, layout.MINISEARCH);
  const linkedForms = link(layout.MATCH_INDEX);
  const { words, match } = collectTitles(catalogue, {
    words: linkedWords.length === 0,
    match: linkedForms.length === 0,
  });
  const files = [...linkedWords, ...linkedForms];
  if (words !== undefined) {
    const { columns, writeMiniSearch } = words();
    files.push(await output.write(layout.WORD_INDEX, encodeIndex(columns)));
    const write = (target: TextTarget) => writeMiniSearch(target, pathsOf(catalogue));
    files.push(await output.fill(layout.MINISEARCH, write));
  }
  if (match !== undefined) {
    const ids = { ofGames: numbersById(catalogue), ofPlatforms: catalogue.externalIds.ofPlatforms };
    files.push(await output.write(layout.MATCH_INDEX, encodeIndex(match(ids))));
  }
  return files;
}

function collectTitles(
  { games, numbering, titles, source, hasSameTitles }: PackedCatalogue,
  wanted: Parameters<typeof writeTitles>[2],
): TitleFiles {
  const { itemOfRank, gameOfRank, firstGame } = numbering;
  const itemAt = (rank: number) => itemOfRank[numberAt<Rank>(rank)];
  const earlier =
    source === undefined || !hasSameTitles
      ? undefined
      : {
          words: () => openIndexFile(source.read, layout.WORD_INDEX),
          match: () => openIndexFile(source.read, layout.MATCH_INDEX),
          sameGame: numbersOf(through(itemOfRank, games.sameNamed)),
          rank: source.index.games.rank,
          platforms: source.index.platforms.length,
        };
  return writeTitles(
    {
      gameOfRank: numbersOf(gameOfRank),
      firstGame: numbersOf(firstGame),
      title: (rank) => games.title(itemAt(rank)),
      slug: (rank) => games.slug(itemAt(rank)),
      otherTitles: (rank) =>
        (titles.size > 0 && titles.get(textOfId(idOf(games.ids, itemAt(rank))))) || [],
    },
    earlier,
    wanted,
  );
}

/** @returns a function that returns the path of the game at a rank, which is its id in `search.json` */
function pathsOf({ platforms, games, numbering }: PackedCatalogue): (rank: number) => string {
  return (rank) => {
    const game = numbering.itemOfRank[numberAt<Rank>(rank)];
    return `${platforms[games.platform[game]].slug}/${games.slug(game)}`;
  };
}

/** For each id of another source, the numbers of the games that have it, in ascending order. */
function numbersById({ games, numbering, externalIds: { ofGames } }: PackedCatalogue) {
  const numbers = new Map<string, number>();
  if (ofGames.size > 0)
    numbering.itemOfGame.forEach((item, number) => {
      numbers.set(textOfId(idOf(games.ids, item)), number);
    });
  const found = new Map<string, number[]>();
  for (const [key, ids] of ofGames)
    found.set(
      key,
      ids.flatMap((id) => numbers.get(id) ?? []).sort((a, b) => a - b),
    );
  return found;
}
