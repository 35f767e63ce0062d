/**
 * A generation as the proxy serves it: returns the bodies of records by their numbers, and searches.
 * Packs that are not in memory are read synchronously, mostly from the page cache: an asynchronous read
 * costs three times as much, and would have to keep the generation open until it ends. The bodies are
 * copies, so they stay valid after the generation is closed.
 */
import { type ContentHash, combineHashes } from '../../format/content-hash.ts';
import {
  openRecordIndex,
  platformOf,
  type RecordColumns,
  type RecordIndex,
} from '../../format/index/record-index.ts';
import { openSearchIndex, type SearchIndex } from '../../format/index/search-index.ts';
import {
  COVER_INDEX,
  COVERS_RECENT,
  coversPack,
  GAME_INDEX,
  gamesPack,
  PLATFORM_INDEX,
  PLATFORMS,
  SEARCH_INDEX,
  STATS,
} from '../../format/layout.ts';
import type { Manifest, ManifestFile } from '../../format/manifest.ts';
import { listHead, listTail, pageTail, RECORD_SEPARATOR } from '../../format/pack.ts';
import { readExactly } from '../../store/files/read-exactly.ts';
import type { PreparedSearch } from '../search/prepare-search.ts';
import { makeSearch, type Search } from '../search/search.ts';
import { contentOf, type OpenedFiles } from './open-files.ts';
import { makePackFiles } from './pack-files.ts';
import type { StoredFile } from './stored-file.ts';

/** A pack in memory, its descriptor, or a function that opens it and returns a descriptor for one read. */
type Pack = Buffer | number | (() => number);

/** A body and its content hash. */
export interface Body {
  readonly bytes: Buffer;
  readonly hash: ContentHash;
}

export interface PageNumbers {
  readonly page: number;
  readonly perPage: number;
  readonly total: number;
}

export interface Generation {
  readonly id: string;
  readonly manifest: Manifest;
  readonly records: RecordIndex;
  readonly search: Search;
  readonly platforms: Body;
  readonly stats: Body;
  readonly recentCovers: Body;
  platform(number: number): Body;
  game(number: number): Body;
  cover(number: number): Body;
  /** The list of covers from `from` (inclusive) to `to` (exclusive), all of one platform. */
  coverList(from: number, to: number): Body;
  /** A page with the games from `from` (inclusive) to `to` (exclusive), all of one platform. */
  gamePage(from: number, to: number, numbers: PageNumbers): Body;
  /** A page with any games, in the given order. */
  gatheredPage(games: readonly number[], numbers: PageNumbers): Body;
  /** A file of the generation by its path in the manifest, or the manifest; undefined if there is none. */
  file(path: string): StoredFile | undefined;
  /** Closes the packs that this object has opened itself. */
  close(): void;
}

/** The indexes of a generation. */
export interface GenerationIndex {
  readonly records: RecordIndex;
  readonly search: SearchIndex;
  readonly prepared: PreparedSearch;
}

/** Makes the indexes as views of the files in memory, without copying them. */
export function viewIndex({ contents, prepared }: OpenedFiles): GenerationIndex {
  const content = (name: string) => contentOf(contents, name);
  const records = openRecordIndex(
    content(PLATFORM_INDEX),
    content(GAME_INDEX),
    content(COVER_INDEX),
  );
  return { records, search: openSearchIndex(content(SEARCH_INDEX)), prepared };
}

/** @param files already checked by `openFiles`, which refuses a generation that cannot be served */
export function makeGeneration(files: OpenedFiles, index = viewIndex(files)): Generation {
  const { manifest, contents } = files;
  const { records } = index;
  const { platforms, games, covers } = records;
  const packFiles = makePackFiles(files.dir, files.identities);
  const packOf = makePackFinder(files, packFiles.open);
  const gamePacks = platforms.map(({ slug }) => packOf(gamesPack(slug)));
  const coverPacks = platforms.map(({ slug }) => packOf(coversPack(slug)));
  const gamePackOf = (game: number) => gamePacks[platformOf(platforms, 'first_game', game)];
  const coverPackOf = (cover: number) => coverPacks[platformOf(platforms, 'first_cover', cover)];
  const filesByPath = new Map(
    [...manifest.files, files.manifestFile].map((file) => [file.path, file]),
  );
  // A copy: a socket that is still writing a response must not keep the shared memory in use.
  const wholeFile = (name: string): Body => ({
    bytes: Buffer.from(contentOf(contents, name)),
    hash: hashOfHex(filesByPath.get(name)?.sha256 ?? ''),
  });
  const platformsBody = wholeFile(PLATFORMS);

  function record(columns: RecordColumns, pack: Pack, number: number): Body {
    const bytes = Buffer.allocUnsafe(columns.byteLength[number]);
    readPack(pack, bytes, 0, bytes.length, columns.byteOffset[number]);
    return { bytes, hash: hashOf(columns, number) };
  }

  /** A list of consecutive records of one pack, with `tail` after the last one. */
  function listOf(
    columns: RecordColumns,
    pack: Pack | undefined,
    from: number,
    to: number,
    tail: string,
  ): Buffer {
    const head = listHead(to - from);
    if (pack === undefined) return Buffer.from(head + tail, 'latin1');
    const start = columns.byteOffset[from];
    const end = columns.byteOffset[to - 1] + columns.byteLength[to - 1];
    const bytes = Buffer.allocUnsafe(head.length + (end - start) + tail.length);
    bytes.write(head, 0, 'latin1');
    readPack(pack, bytes, head.length, end - start, start);
    bytes.write(tail, head.length + (end - start), 'latin1');
    return bytes;
  }

  return {
    id: manifest.id,
    manifest,
    records,
    search: makeSearch(index.search, index.prepared, records),
    platforms: platformsBody,
    stats: wholeFile(STATS),
    recentCovers: wholeFile(COVERS_RECENT),
    platform(number) {
      const { offset, length, hash } = platforms[number];
      return { bytes: platformsBody.bytes.subarray(offset, offset + length), hash };
    },
    game: (number) => record(games, gamePackOf(number), number),
    cover: (number) => record(covers, coverPackOf(number), number),
    coverList(from, to) {
      const pack = from === to ? undefined : coverPackOf(from);
      return {
        bytes: listOf(covers, pack, from, to, listTail(to - from)),
        hash: combineHashes(covers.hash.subarray(from * 2, to * 2), []),
      };
    },
    gamePage(from, to, { page, perPage, total }) {
      const pack = from === to ? undefined : gamePackOf(from);
      return {
        bytes: listOf(games, pack, from, to, pageTail(to - from, page, perPage, total)),
        hash: combineHashes(games.hash.subarray(from * 2, to * 2), [page, perPage, total]),
      };
    },
    gatheredPage(numbers, { page, perPage, total }) {
      const head = listHead(numbers.length);
      const tail = pageTail(numbers.length, page, perPage, total);
      const separators = Math.max(0, numbers.length - 1) * RECORD_SEPARATOR.length;
      const size = numbers.reduce((sum, game) => sum + games.byteLength[game], 0);
      const bytes = Buffer.allocUnsafe(head.length + size + separators + tail.length);
      const hashes: number[] = [];
      let at = bytes.write(head, 0, 'latin1');
      for (const [position, game] of numbers.entries()) {
        if (position > 0) at += bytes.write(RECORD_SEPARATOR, at, 'latin1');
        const length = games.byteLength[game];
        readPack(gamePackOf(game), bytes, at, length, games.byteOffset[game]);
        at += length;
        hashes.push(...hashOf(games, game));
      }
      bytes.write(tail, at, 'latin1');
      return { bytes, hash: combineHashes(hashes, [page, perPage, total]) };
    },
    file(name) {
      const file = filesByPath.get(name);
      const identity = files.identities.get(name);
      if (file === undefined || identity === undefined) return undefined;
      return { dir: files.dir, file, identity };
    },
    close: packFiles.close,
  };
}

function makePackFinder(
  { manifest, contents, descriptors }: OpenedFiles,
  openPack: (file: ManifestFile) => number,
): (name: string) => Pack {
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  return (name) => {
    const bytes = contents.get(name);
    if (bytes !== undefined) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const file = files.get(name);
    if (file === undefined) throw new Error(`The generation has no pack ${name}.`);
    return descriptors.get(name) ?? (() => openPack(file));
  };
}

function hashOf({ hash }: RecordColumns, number: number): ContentHash {
  return [hash[number * 2], hash[number * 2 + 1]];
}

function hashOfHex(sha256: string): ContentHash {
  return [Number.parseInt(sha256.slice(0, 8), 16), Number.parseInt(sha256.slice(8, 16), 16)];
}

function readPack(pack: Pack, target: Buffer, at: number, length: number, position: number): void {
  if (typeof pack === 'object') {
    if (pack.copy(target, at, position, position + length) === length) return;
    throw new Error(`A pack ends before byte ${position + length}.`);
  }
  const descriptor = typeof pack === 'number' ? pack : pack();
  readExactly(descriptor, target, at, length, position, 'A pack');
}
