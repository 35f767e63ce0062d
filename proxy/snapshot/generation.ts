/**
 * A generation as the proxy serves it: its index, its records, its lists, and search. Bodies are copies, so
 * they stay valid after its packs are closed.
 */

import { type MatchIndex, openMatch } from '../../find/match/open.ts';
import { USUAL_FRONT_TYPES } from '../../find/names/fronts.ts';
import { makePlatformNames, type PlatformNames } from '../../find/names/platform-names.ts';
import { findValues } from '../../find/search/filters.ts';
import { Search } from '../../find/search/find.ts';
import { openSearch, type SearchIndex } from '../../find/search/open.ts';
import type { PreparedSearch } from '../../find/search/prepare-search.ts';
import { foldCase } from '../../find/text/words.ts';
import type { ContentHash } from '../../lib/format/content-hash.ts';
import { openFindFiles } from '../../lib/format/index/index-file.ts';
import {
  openRecordIndex,
  platformOf,
  type RecordColumns,
  type RecordIndex,
} from '../../lib/format/index/record-index.ts';
import { openSince, type Since } from '../../lib/format/index/since.ts';
import { openTitles, type TitleColumns } from '../../lib/format/index/titles.ts';
import {
  COVERS_RECENT,
  coversPack,
  gamesPack,
  PLATFORMS,
  REMOVED,
  STATS,
} from '../../lib/format/layout.ts';
import type { Manifest } from '../../lib/format/manifest.ts';
import { PACK_HEAD } from '../../lib/format/pack.ts';
import { readExactly } from '../../lib/generations/files/checked-files.ts';
import { type ChangePage, listChanges } from './changes.ts';
import { contentOf, type OpenedFiles } from './open-files.ts';
import { StoredFiles } from './stored-files.ts';

/** A body and its content hash. */
export interface Body {
  readonly bytes: Buffer;
  readonly hash: ContentHash;
}

/** The records of a generation: all games, or all covers. They are read from its packs. */
export interface Records {
  readonly columns: RecordColumns;
  /**
   * The number of bytes of the records from `from` (inclusive) to `to` (exclusive), all of one platform,
   * with the separators between them.
   */
  sizeOf(from: number, to: number): number;
  /** Whether a record is the first one of its platform. */
  isFirst(number: number): boolean;
  /** Copies `length` bytes from the start of record `from` on, all of one platform, to `target`. */
  copy(from: number, length: number, target: Buffer, at: number): void;
  /** The body of one record. */
  body(number: number): Body;
}

export interface Generation {
  readonly id: string;
  readonly manifest: Manifest;
  readonly index: RecordIndex;
  readonly search: Search;
  readonly platformNames: PlatformNames;
  readonly match: MatchIndex;
  readonly platforms: Body;
  readonly stats: Body;
  readonly recentCovers: Body;
  readonly games: Records;
  readonly covers: Records;
  readonly titles: TitleColumns;
  /** The ids of the last generations before this one, the oldest first. */
  readonly recentIds: readonly string[];
  /** See {@link listChanges}. */
  changesSince(id: string, first: number, count: number): ChangePage | undefined;
  /** The indexes, in the regions of the search index, of the regions that a text names. */
  regionsOf(text: string): readonly number[];
  /** The types of covers that are fronts, in any case, the best first. */
  readonly frontTypes: readonly string[];
  /** The index of a type in the types of the search index, in any case; undefined if unknown. */
  typeOf(text: string): number | undefined;
  /** How the catalogue writes a region or a type that is in lower case; other values stay as they are. */
  spellingOf(facet: string, value: string): string;
  /** Its files on disk. They are open for longer than the generation is served. */
  readonly stored: StoredFiles;
}

/**
 * The generation that one thread answers from. A request uses it within one call: once the thread has the
 * next one, nothing reads from the one before, and its packs can be closed. Undefined before the first one.
 */
export type CurrentGeneration = () => Generation | undefined;

/** The indexes of a generation, as views of its files in memory. */
interface Indexes {
  readonly records: RecordIndex;
  readonly search: SearchIndex;
  readonly titles: TitleColumns;
  readonly since: Since;
  readonly match: MatchIndex;
  readonly prepared: PreparedSearch;
}

export function viewIndexes({ contents, prepared }: OpenedFiles): Indexes {
  const content = (name: string) => contentOf(contents, name);
  const records = openRecordIndex(content);
  const games = records.games.rank.length;
  const files = openFindFiles(content);
  const search = openSearch(files, games);
  const titles = openTitles(content);
  const since = openSince(content, records);
  const match = openMatch(files.match, records.platforms.length);
  return { records, search, titles, since, match, prepared };
}

/** @param files already checked by `openFiles`, which refuses a generation that cannot be served */
export function makeGeneration(files: OpenedFiles, indexes = viewIndexes(files)): Generation {
  const { manifest, contents, descriptors } = files;
  const { records, search, titles, since } = indexes;
  const { platforms, games, covers } = records;
  const filesByPath = new Map(
    [...manifest.files, files.manifestFile].map((file) => [file.path, file]),
  );
  const packOf = (name: string): number => {
    const descriptor = descriptors.get(name);
    if (descriptor === undefined) throw new Error(`The generation has no pack ${name}.`);
    return descriptor;
  };
  const gamePacks = platforms.map(({ slug }) => packOf(gamesPack(slug)));
  const coverPacks = platforms.map(({ slug }) => packOf(coversPack(slug)));
  // A copy: a socket that is still writing a response must not keep the shared memory in use.
  const wholeFile = (name: string): Body => ({
    bytes: Buffer.from(contentOf(contents, name)),
    hash: hashOfHex(filesByPath.get(name)?.sha256 ?? ''),
  });
  const stats = wholeFile(STATS);
  let spellings: ReadonlyMap<string, string> | undefined;
  const platformNames = makePlatformNames(platforms, indexes.match.platformIds);
  const { front_types: frontTypes = USUAL_FRONT_TYPES } = manifest.settings;
  const regionsOf = (text: string) => findValues(search, 'region', text);
  const removedFile = contentOf(contents, REMOVED);
  const changes = { id: manifest.id, records, since, removed: files.removed, removedFile };

  return {
    id: manifest.id,
    manifest,
    index: records,
    search: new Search(search, indexes.prepared, records, platformNames, frontTypes),
    platformNames,
    match: indexes.match,
    platforms: wholeFile(PLATFORMS),
    stats,
    recentCovers: wholeFile(COVERS_RECENT),
    games: makeRecords(games, (game) => gamePacks[platformOf(platforms, 'firstGame', game)]),
    covers: makeRecords(covers, (cover) => coverPacks[platformOf(platforms, 'firstCover', cover)]),
    titles,
    recentIds: files.removed.recentIds,
    changesSince: (id, first, count) => listChanges(changes, id, first, count),
    regionsOf,
    frontTypes,
    typeOf: (text) => findValues(search, 'type', text)[0],
    spellingOf(facet, value) {
      spellings ??= spellingsIn(stats);
      return spellings.get(`${facet} ${value}`) ?? value;
    },
    stored: new StoredFiles(files),
  };
}

function hashOfHex(sha256: string): ContentHash {
  return [Number.parseInt(sha256.slice(0, 8), 16), Number.parseInt(sha256.slice(8, 16), 16)];
}

/** The most frequent spelling of each region and type. */
function spellingsIn({ bytes }: Body): Map<string, string> {
  const { covers_by_region, covers_by_type }: Record<string, Record<string, string | null>[]> =
    JSON.parse(bytes.toString());
  const found = new Map<string, string>();
  for (const { region, type } of [...covers_by_region, ...covers_by_type]) {
    const [name, text] = region === undefined ? ['type', type] : ['region', region];
    const key = `${name} ${foldCase(text ?? '')}`;
    if (text !== null && text !== undefined && !found.has(key)) found.set(key, text);
  }
  return found;
}

/**
 * Packs are read synchronously, mostly from the page cache: an asynchronous read costs three times as much,
 * and would have to keep the generation open until it ends.
 * @param packOf returns the descriptor of the pack that contains a record
 */
function makeRecords(columns: RecordColumns, packOf: (number: number) => number): Records {
  const { byteOffset, byteLength, hash } = columns;
  return {
    columns,
    sizeOf: (from, to) => byteOffset[to - 1] + byteLength[to - 1] - byteOffset[from],
    isFirst: (number) => byteOffset[number] === PACK_HEAD.length,
    copy(from, length, target, at) {
      readExactly(packOf(from), target, at, length, byteOffset[from], 'A pack');
    },
    body(number) {
      const bytes = Buffer.allocUnsafe(byteLength[number]);
      readExactly(packOf(number), bytes, 0, bytes.length, byteOffset[number], 'A pack');
      return { bytes, hash: [hash[number * 2], hash[number * 2 + 1]] };
    },
  };
}
