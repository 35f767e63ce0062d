/**
 * Writes every file of a generation except its manifest, as soon as the rows that it needs are read. In a full
 * run, a worker shares the work: while the main thread reads covers, it puts the titles in order; while the main
 * thread reads files, it writes the games and the search index. Then both write packs of covers.
 */

import { findById, type Id, splitId, textOfId } from '../../format/index/ids.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { ManifestContent, ManifestFile, Settings } from '../../format/manifest.ts';
import type { EarlierGeneration } from '../changes/earlier-generation.ts';
import { type GameOrder, type Numbering, numberRecords, orderGames } from '../order/numbering.ts';
import {
  type Catalogue,
  type Covers,
  type Files,
  type Games,
  LEFT_OUT,
  makeFiles,
  type Platform,
} from '../read/catalogue.ts';
import { findId } from '../read/ids.ts';
import type { Warning } from '../report/report.ts';
import { findGenreWarnings } from '../report/warnings.ts';
import { both } from '../worker.ts';
import { allSynced } from './file-writer.ts';
import { writeCoverIndex, writeFilters, writeGameIndex, writePathIndex } from './indexes.ts';
import type { RunWorker } from './jobs.ts';
import { type RecentCover, writePlatforms, writeRecentCovers, writeStats } from './lists.ts';
import {
  makePositions,
  type PackSource,
  type Positions,
  writeCoverPack,
  writeGamePack,
} from './packs.ts';
import { writeWords } from './words.ts';

/** What a run works with. */
export interface WriteOptions {
  /** The folder of the generation. */
  readonly dir: string;
  readonly settings: Settings;
  readonly platforms: readonly Platform[];
  /** Undefined if all rows are read. */
  readonly earlier: EarlierGeneration | undefined;
  /** Undefined if this thread does all the work. */
  readonly worker: RunWorker | undefined;
}

/** Alternative titles. */
export interface TitlesById {
  /** By the id of the game, in decimal digits. */
  readonly of: ReadonlyMap<string, readonly string[]>;
  readonly areSame: boolean;
}

/** What was written, without what the report adds. */
export type Written = Pick<ManifestContent, 'files' | 'latest_cover_at'> & {
  readonly counts: Omit<ManifestContent['counts'], 'left_out'>;
  /** About all games together. */
  readonly warnings: readonly Warning[];
};

/** Everything of a generation but its lists, with columns that threads share. */
export interface GameSource {
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  readonly numbering: Numbering;
  readonly settings: Settings;
  readonly positions: Positions;
  readonly titles: TitlesById;
}

export function makeGenerationWriter({ dir, settings, platforms, earlier, worker }: WriteOptions) {
  let order: Promise<GameOrder> | undefined;
  let source: GameSource | undefined;
  let games: Promise<WrittenGames> | undefined;
  return {
    /** Call it when the games are read. */
    gamesRead(read: Games) {
      order = worker
        ? worker.run('orderGames', platforms, read, undefined)
        : Promise.resolve(orderGames(platforms, read, earlier));
      // It is awaited later. A rejection before that must not count as unhandled.
      order.catch(() => {});
    },
    /** Call it when the covers are read. */
    async coversRead(read: Games, covers: Covers, titles: TitlesById) {
      if (order === undefined) throw new Error('The games must be read first.');
      const numbering = numberRecords(platforms, read, covers, await order, earlier);
      source = {
        platforms,
        games: read,
        covers,
        numbering,
        settings,
        positions: makePositions(numbering),
        titles,
      };
      games = worker ? worker.run('writeGames', dir, source) : writeGames(dir, source, earlier);
      games.catch(() => {});
    },
    /** Call it when all is read. @returns what was written; all files are on disk */
    async finish(catalogue: Catalogue, recent: readonly RecentCover[]): Promise<Written> {
      if (source === undefined || games === undefined)
        throw new Error('The covers must be read first.');
      const { numbering, positions } = source;
      const { covers } = catalogue;
      const packs = await writePacks(dir, { ...source, catalogue }, earlier, worker);
      const numberOf = (id: string) => numberOfCover(id, covers, numbering, earlier);
      const stats = await writeStats(dir, catalogue, numbering, recent, earlier);
      const files = [
        ...packs,
        await writeCoverIndex(dir, covers, numbering, positions, earlier),
        await writeRecentCovers(dir, platforms, numbering, recent, numberOf, positions),
        ...(await writePlatforms(dir, platforms, numbering, settings)),
        stats.file,
      ];
      const ofGames = await games;
      await both(worker?.run('allSynced'), allSynced());
      return {
        files: [...files, ...ofGames.files],
        counts: stats.counts,
        latest_cover_at: stats.latestCoverAt,
        warnings: ofGames.warnings,
      };
    },
  };
}

/** Writes all packs of covers, on two threads if there is a worker. */
async function writePacks(
  dir: string,
  source: PackSource & Pick<GameSource, 'positions'>,
  earlier: EarlierGeneration | undefined,
  worker: WriteOptions['worker'],
): Promise<ManifestFile[]> {
  const next = sharedZeros(Int32Array, 1);
  const packs = await both(
    worker?.run('writeCoverPacks', dir, source, next),
    writeCoverPacks(dir, source, next, earlier),
  );
  return packs.flatMap((files) => files ?? []);
}

/**
 * Writes packs of covers, while there are any.
 * @param next one entry, in memory that threads share: how many packs were taken
 */
export async function writeCoverPacks(
  dir: string,
  source: PackSource & Pick<GameSource, 'positions'>,
  next: Int32Array,
  earlier?: EarlierGeneration,
): Promise<ManifestFile[]> {
  const { firstCoverOf } = source.numbering;
  const covers = (platform: number) => firstCoverOf[platform + 1] - firstCoverOf[platform];
  // The largest first, so that both threads end at about the same time.
  const order = source.catalogue.platforms
    .map((_, platform) => platform)
    .sort((a, b) => covers(b) - covers(a));
  const files: ManifestFile[] = [];
  for (let at = Atomics.add(next, 0, 1); at < order.length; at = Atomics.add(next, 0, 1)) {
    files.push(await writeCoverPack(dir, source, source.positions.covers, order[at], earlier));
  }
  return files;
}

export interface WrittenGames {
  readonly files: readonly ManifestFile[];
  readonly warnings: readonly Warning[];
}

/** Writes the packs of games, and what can be written without the files of covers. */
export async function writeGames(
  dir: string,
  source: GameSource,
  earlier?: EarlierGeneration,
): Promise<WrittenGames> {
  const { platforms, games, numbering, positions, titles } = source;
  const packSource = { ...source, catalogue: { ...source, files: NO_FILES } };
  const files: ManifestFile[] = [];
  for (const platform of platforms.keys())
    files.push(await writeGamePack(dir, packSource, positions.games, platform, earlier));
  files.push(await writeGameIndex(dir, numbering, positions));
  files.push(await writePathIndex(dir, games, numbering, earlier));
  const filters = await writeFilters(dir, packSource.catalogue, numbering, earlier);
  const { idOf, genresOf } = describeGames(games, numbering, earlier);
  const warnings = findGenreWarnings(
    filters.genres,
    (rank) => idOf(numbering.itemOfRank[rank]),
    (rank) => genresOf(numbering.itemOfRank[rank]),
  );
  const titlesOf = {
    of: (item: number) =>
      titles.of.size === 0 ? NO_TITLES : (titles.of.get(textOfId(idOf(item))) ?? NO_TITLES),
    areSame: titles.areSame,
  };
  files.push(
    filters.file,
    ...(await writeWords(dir, platforms, games, numbering, titlesOf, earlier)),
  );
  return { files, warnings };
}

const NO_TITLES: readonly string[] = [];
const NO_FILES: Files = { ...makeFiles(0), count: 0, texts: [] };

/** The id and the genres of each item. */
function describeGames(
  games: Games,
  { earlierGames }: Numbering,
  earlier: EarlierGeneration | undefined,
) {
  let ids: ReturnType<EarlierGeneration['ids']> | undefined;
  return {
    idOf(item: number): Id {
      if (earlier === undefined || item >= earlierGames)
        return [games.ids.high[item - earlierGames], games.ids.low[item - earlierGames]];
      ids ??= earlier.ids();
      return [ids.high[item], ids.low[item]];
    },
    genresOf(item: number): string | null {
      if (earlier === undefined || item >= earlierGames)
        return games.genres[games.genresOf[item - earlierGames]] ?? null;
      return JSON.parse(earlier.record('games', item)).genres;
    },
  };
}

function numberOfCover(
  id: string,
  covers: Covers,
  numbering: Numbering,
  earlier: EarlierGeneration | undefined,
): number {
  const halves = splitId(id) ?? [0, 0];
  const row = findId(covers.ids, covers.rows, halves, 0);
  if (row >= 0 && covers.game[row] !== LEFT_OUT)
    return numbering.numberOfCover[numbering.earlierCovers + row];
  const before = earlier && findById(earlier.index.covers, halves);
  return before === undefined ? LEFT_OUT : numbering.numberOfCover[before];
}
