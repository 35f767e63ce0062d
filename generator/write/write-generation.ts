/**
 * Writes every file of a generation except its manifest, as soon as the rows that it needs are read. In a large
 * full run, a worker shares the work: while the main thread reads covers, it puts the titles in order; while the
 * main thread reads files, it writes the games and the search index. Then both write packs of covers.
 */
import { sharedZeros } from '../../lib/format/index/arrays.ts';
import type { ManifestContent, ManifestFile } from '../../lib/format/manifest.ts';
import { type GameOrder, numberRecords, orderGames } from '../order/numbering.ts';
import type { Covers, Files, Games } from '../read/catalogue.ts';
import type { ExternalIds } from '../read/optional-tables.ts';
import type { RunWorker } from '../worker.ts';
import { allSynced } from './file-writer.ts';
import {
  writeCoverIndex,
  writeFilters,
  writeGameIndex,
  writePathIndex,
  writeTitles,
} from './indexes.ts';
import { type RecentCover, writePlatforms, writeRecentCovers, writeStats } from './lists.ts';
import {
  type CoverSource,
  makePositions,
  type Titles,
  type WriteSource,
  writePack,
} from './packs.ts';
import { makeCoverRecords, makeGameRecords, type RecordTarget } from './records.ts';
import { writeSearch } from './search.ts';

/** What was written, without what the report adds. */
export type Written = Pick<ManifestContent, 'files' | 'latest_cover_at'> & {
  readonly counts: Omit<ManifestContent['counts'], 'left_out'>;
};

type Known = Pick<WriteSource, 'dir' | 'settings' | 'platforms' | 'earlier'>;

/** @param worker undefined if this thread does all the work */
export function makeGenerationWriter(known: Known, worker: RunWorker | undefined) {
  const { platforms, earlier } = known;
  let order: Promise<GameOrder>;
  let source: WriteSource;
  let ofGames: ReturnType<typeof writeGames>;
  return {
    /** Call it when the games are read. */
    gamesRead(games: Games) {
      order =
        worker?.run('orderGames', platforms, games) ??
        Promise.resolve(orderGames(platforms, games, earlier));
      // It is awaited later. A rejection before that must not count as unhandled.
      order.catch(() => {});
    },
    /** Call it when the covers are read. */
    async coversRead(games: Games, covers: Covers, titles: Titles, externalIds: ExternalIds) {
      const numbering = numberRecords(platforms, games, covers, await order, earlier);
      const positions = makePositions(numbering);
      source = { ...known, games, covers, numbering, titles, externalIds, positions };
      ofGames = worker?.run('writeGames', source) ?? writeGames(source);
      ofGames.catch(() => {});
    },
    /** Call it when the files are read. @returns what was written; all files are on disk */
    async finish(files: Files, recent: readonly RecentCover[]): Promise<Written> {
      const withFiles: CoverSource = { ...source, files };
      const next = sharedZeros(Int32Array, 1);
      const packs = await both(
        worker?.run('writeCoverPacks', withFiles, next),
        writeCoverPacks(withFiles, next),
      );
      const stats = await writeStats(withFiles, recent);
      const { file, ids } = await writeCoverIndex(source);
      const lists = [await writeRecentCovers(source, recent, ids), await writePlatforms(source)];
      const games = await ofGames;
      await both(worker?.run('allSynced'), allSynced());
      return {
        files: [...packs.flatMap((list) => list ?? []), file, ...lists, stats.file, ...games],
        counts: stats.counts,
        latest_cover_at: stats.latestCoverAt,
      };
    },
  };
}

/** Writes packs of covers, while there are any. @param next one entry, shared: how many were taken */
export async function writeCoverPacks(
  source: CoverSource,
  next: Int32Array,
): Promise<ManifestFile[]> {
  const { firstCoverOf } = source.numbering;
  const covers = (platform: number) => firstCoverOf[platform + 1] - firstCoverOf[platform];
  // The largest first, so that both threads end at about the same time.
  const order = [...source.platforms.keys()].sort((a, b) => covers(b) - covers(a));
  const addRecord = makeCoverRecords(source);
  const files: ManifestFile[] = [];
  for (let at = Atomics.add(next, 0, 1); at < order.length; at = Atomics.add(next, 0, 1))
    files.push(await writePack(source, 'covers', order[at], addRecord));
  return files;
}

/** Writes the packs of games, and what can be written without the files of covers. */
export async function writeGames(source: WriteSource): Promise<ManifestFile[]> {
  const files: ManifestFile[] = [];
  const { firstCover } = source.numbering;
  const addGame = makeGameRecords(source);
  const addRecord = (target: RecordTarget, row: number, number: number) =>
    addGame(target, row, firstCover[number + 1] - firstCover[number]);
  for (const platform of source.platforms.keys())
    files.push(await writePack(source, 'games', platform, addRecord));
  files.push(await writeGameIndex(source), await writePathIndex(source));
  files.push(await writeTitles(source));
  files.push(await writeFilters(source), ...(await writeSearch(source)));
  return files;
}

/** Waits until both promises have settled. @returns both results @throws the error of one that failed */
export async function both<A, B>(one: Promise<A> | undefined, other: Promise<B>) {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
