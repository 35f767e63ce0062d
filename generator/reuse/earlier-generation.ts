/**
 * The generation of the earlier run, from which the records of unchanged games are copied. Nothing of it is
 * used before its hash was checked.
 */

import { closeSync, linkSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { hashBytes } from '../../lib/format/content-hash.ts';
import { findById, type Id, idAt } from '../../lib/format/index/ids.ts';
import { findGame, openRecordIndex, platformOf } from '../../lib/format/index/record-index.ts';
import {
  type FilterIndex,
  openFilterIndex,
  openWordIndex,
  textAt,
  textCount,
  type WordIndex,
} from '../../lib/format/index/search-index.ts';
import { coversPack, FILTER_INDEX, gamesPack, STATS, WORD_INDEX } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import { titleOf } from '../../lib/format/pack.ts';
import { readExactly } from '../../lib/generations/files/checked-files.ts';
import { hasModes, modesIn } from '../../lib/generations/files/file-modes.ts';
import { getOrAdd } from '../get-or-add.ts';
import type { GameItems } from '../order/items.ts';
import { LEFT_OUT } from '../read/catalogue.ts';
import type { EarlierRun } from './earlier-run.ts';
import { blockOf } from './find-changes.ts';

/** What is needed of `stats.json`. */
interface Stats {
  readonly covers_by_region: readonly { readonly region: string | null; readonly covers: number }[];
  readonly covers_by_type: readonly { readonly type: string | null; readonly covers: number }[];
}

export interface EarlierReadings {
  readonly readings: readonly (readonly number[])[];
  /** Whether the last one is the words of the game's slug, and of none of its titles. */
  readonly endsWithSlug: boolean;
}

export type EarlierGeneration = ReturnType<typeof openEarlier>;

/**
 * @param isRead whether the games of a block are read again
 * @param readFile reads a file @throws Error if it is damaged
 */
export function openEarlier(
  { dir, manifest, shifts: { game: gameShift } }: EarlierRun,
  isRead: (block: string) => boolean,
  readFile: (dir: string, file: ManifestFile) => Buffer,
) {
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const fileOf = (name: string) => {
    const file = files.get(name);
    if (file === undefined) throw new Error(`the current generation has no ${name}`);
    return file;
  };
  const read = (name: string) => readFile(dir, fileOf(name));
  const index = openRecordIndex(read);
  const { games, platforms } = index;
  const isKept = new Uint8Array(games.rank.length).fill(1);
  let last: Id = [-1, 0];
  let isLastRead = false;
  games.numberOfId.forEach((number, at) => {
    const id = idAt(games, at);
    // Ids ascend, so most are in the block of the one before.
    const isSameBlock = id[0] === last[0] && id[1] >>> gameShift === last[1] >>> gameShift;
    if (!isSameBlock || gameShift > 31) isLastRead = isRead(blockOf(id, gameShift));
    last = id;
    if (isLastRead) isKept[number] = 0;
  });

  const open = new Map<string, number>();
  /** The record of a game or cover. @throws Error if it is damaged */
  function record(kind: 'games' | 'covers', number: number): string {
    const { byteOffset, byteLength, hash } = index[kind];
    const first = kind === 'games' ? 'firstGame' : 'firstCover';
    const { slug } = platforms[platformOf(platforms, first, number)];
    const { path: name } = fileOf(kind === 'games' ? gamesPack(slug) : coversPack(slug));
    const descriptor = getOrAdd(open, name, () => openSync(path.join(dir, name), 'r'));
    const bytes = Buffer.allocUnsafe(byteLength[number]);
    readExactly(descriptor, bytes, 0, bytes.length, byteOffset[number], name);
    const [high, low] = hashBytes(bytes);
    if (high !== hash[number * 2] || low !== hash[number * 2 + 1]) {
      throw new Error(`a record in ${name} of the current generation is damaged`);
    }
    return bytes.toString();
  }

  let filters: FilterIndex | undefined;
  return {
    dir,
    manifest,
    index,
    /** For each game: 1 if it was not read, so that its records are copied; otherwise 0. */
    isKept,
    filters() {
      filters ??= openFilterIndex(read(FILTER_INDEX), isKept.length);
      return filters;
    },
    /** The number of the game with an id; undefined if there is none, or if it was read. */
    keptGame(id: Id): number | undefined {
      const number = findById(games, id);
      return number !== undefined && isKept[number] === 1 ? number : undefined;
    },
    /** The id of the game that was published with a path, and was not read; undefined if there is none. */
    keptWithPath(platform: number, slug: string): Id | undefined {
      const game = findGame(index, platform, slug);
      return game === undefined || isKept[game] === 0
        ? undefined
        : idAt(games, games.numberOfId.indexOf(game));
    },
    /** The id of each game. */
    ids() {
      const [high, low] = [new Uint32Array(isKept.length), new Uint32Array(isKept.length)];
      games.numberOfId.forEach((number, at) => {
        [high[number], low[number]] = idAt(games, at);
      });
      return { high, low };
    },
    record,
    title: (game: number) => titleOf(record('games', game)),
    /** The whole content of a file. @throws Error if it is damaged */
    read,
    /** Links a file into a new generation. @returns undefined if the file must be written */
    link(target: string, name: string): ManifestFile | undefined {
      const [source, link] = [path.join(dir, name), path.join(target, name)];
      try {
        // The link has the permissions of the old file, which may be wrong for this generation.
        const modes = modesIn(path.dirname(link));
        if (!hasModes(statSync(source), modes.file, modes)) return undefined;
        linkSync(source, link);
        return fileOf(name);
      } catch {
        return undefined;
      }
    },
    stats: (): Stats => JSON.parse(read(STATS).toString()),
    /** @returns the readings of a game, as numbers from `numberOf`, or undefined if they must be made */
    readings(numberOf: (word: string) => number) {
      const readings = openReadings(openWordIndex(read(WORD_INDEX), isKept.length), numberOf);
      return (game: number) => readings(games.rank[game]);
    },
    close() {
      for (const descriptor of open.values()) closeSync(descriptor);
      open.clear();
    },
  };
}

function openReadings(
  search: WordIndex,
  numberOf: (word: string) => number,
): (rank: number) => EarlierReadings {
  const { rankOfFurther, slugReadings } = search;
  const { words, start } = search.readings;
  const games = search.readingsByWords.length - rankOfFurther.length;
  const ofSlug = new Set(slugReadings);
  const numbers = new Uint32Array(textCount(search.words)).fill(LEFT_OUT);
  const furtherOf = new Map<number, number[]>();
  rankOfFurther.forEach((rank, at) => {
    getOrAdd(furtherOf, rank, () => []).push(games + at);
  });
  const wordsOf = (reading: number) =>
    Array.from(words.subarray(start[reading], start[reading + 1]), (word) => {
      if (numbers[word] === LEFT_OUT) numbers[word] = numberOf(textAt(search.words, word));
      return numbers[word];
    });
  return (rank) => {
    const further = furtherOf.get(rank) ?? [];
    return {
      readings: [rank, ...further].map(wordsOf),
      endsWithSlug: ofSlug.has(further.at(-1) ?? -1),
    };
  };
}

/**
 * The number of the game that a game which was read replaces without a change of its path, id or title;
 * otherwise LEFT_OUT.
 */
export function twinOf(
  { index, isKept, title }: EarlierGeneration,
  item: number,
  items: GameItems,
): number {
  const number = findGame(index, items.platform(item), items.slug(item));
  const isTwin =
    number !== undefined &&
    isKept[number] === 0 &&
    findById(index.games, items.id(item)) === number &&
    title(number) === items.title(item);
  return isTwin ? number : LEFT_OUT;
}
