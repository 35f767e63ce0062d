/**
 * Opens the files of a generation. Checks each file against the manifest, and the values of the indexes
 * against one another, so that a damaged or forged generation is refused before it is served. It runs
 * on a separate thread, since a large catalogue has gigabytes.
 */
import { closeSync } from 'node:fs';
import { checkFilters } from '../../format/index/check-search-index.ts';
import { openSearchIndex } from '../../format/index/search-index.ts';
import {
  COVER_PACKS,
  FIXED_FILES,
  GAME_PACKS,
  isPack,
  MINISEARCH,
  WORD_INDEX,
} from '../../format/layout.ts';
import type { Manifest, ManifestFile } from '../../format/manifest.ts';
import { checkOpenFile, openSized } from '../../store/files/checked-files.ts';
import { checkId, readManifestFile } from '../../store/generations/manifest-file.ts';
import { openIndex } from '../../store/generations/open-index.ts';
import { type PreparedSearch, prepareAgain, prepareSearch } from '../search/prepare-search.ts';
import { identityOf } from './pack-files.ts';

export interface OpenOrder {
  readonly dir: string;
  /** The id of the generation that the folder must contain. */
  readonly id: string;
  /**
   * For a generation that is to become current: how many bytes to keep in memory. The indexes are always
   * kept in memory, and as many packs as fit. The other packs are opened and stay open. Undefined for a
   * generation that a client requested by id: none of its packs is kept in memory, and a pack is opened
   * only when it is read.
   */
  readonly mostMemory: number | undefined;
  /** The {@link OpenedFiles.identities} from the last time that this generation was opened, if any. */
  readonly known: ReadonlyMap<string, string> | undefined;
  /**
   * The generation that the opened one will replace, if any. Both share the memory of files that are the
   * same files in both, and the search is prepared again only as far as needed: after a small change this
   * saves most of the CPU time of a switch.
   */
  readonly current?: Replaced | undefined;
}

/** What can be used again of a generation that is open with packs in memory. */
export type Replaced = Pick<OpenedFiles, 'manifest' | 'contents' | 'identities' | 'prepared'>;

/** How an order is carried out: with the manifest that was found, and which files to keep in memory. */
export interface Plan {
  readonly order: OpenOrder;
  readonly manifest: Manifest;
  /** The manifest as a file. */
  readonly manifestFile: ManifestFile;
  /** The files to keep in memory. */
  readonly kept: readonly ManifestFile[];
  /** How much memory the kept files take. */
  readonly bytes: number;
}

/** Everything that a thread needs to serve a generation. All of it can be shared by threads. */
export interface OpenedFiles {
  readonly dir: string;
  readonly manifest: Manifest;
  /** The manifest as a file. */
  readonly manifestFile: ManifestFile;
  /** Whether the generation was opened to become current: each pack is in memory or open. */
  readonly isWhole: boolean;
  /** How much memory the files in memory take. */
  readonly bytes: number;
  /** The files in memory, by path. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** The descriptors of the open packs, by path. */
  readonly descriptors: ReadonlyMap<string, number>;
  /** For each file, by path: its identity at the time of the check. */
  readonly identities: ReadonlyMap<string, string>;
  readonly prepared: PreparedSearch;
  /** One entry: when a request last named this generation, by the clock that threads share. */
  readonly lastUsed: Float64Array;
}

/** The files that are kept in memory regardless of their size: all that requests need, except packs. */
const KEPT = FIXED_FILES.filter((name) => name !== MINISEARCH);

/** @throws Error that names the file which is missing or damaged */
export function planOpening(order: OpenOrder): Plan {
  const { manifest, file: manifestFile } = readManifestFile(order.dir);
  checkId(manifest, order.id);
  // Check the sizes of the files before other generations are closed: a manifest can claim any size.
  for (const file of manifest.files) withFile(order.dir, file, () => false);
  const kept = chooseKept(manifest.files, order.mostMemory ?? 0);
  return {
    order,
    manifest,
    manifestFile,
    kept,
    bytes: kept.reduce((sum, { size }) => sum + size, 0),
  };
}

/** @throws Error that names the file which is missing or damaged */
export function openFiles({ order, manifest, manifestFile, kept, bytes }: Plan): OpenedFiles {
  const { dir, mostMemory, known, current } = order;
  const isWhole = mostMemory !== undefined;
  const keptPaths = new Set(kept.map(({ path: name }) => name));
  const contents = new Map<string, Uint8Array>();
  const descriptors = new Map<string, number>();
  const identities = new Map<string, string>();
  try {
    for (const file of [...manifest.files, manifestFile]) {
      withFile(dir, file, (descriptor) => {
        const identity = identityOf(file, descriptor);
        identities.set(file.path, identity);
        const isSame = current?.identities.get(file.path) === identity;
        if (keptPaths.has(file.path)) {
          const before = isSame ? current?.contents.get(file.path) : undefined;
          contents.set(file.path, before ?? readShared(descriptor, file));
          return false;
        }
        // A file that has not changed since it was last hashed need not be hashed again.
        if (!isSame && known?.get(file.path) !== identity) checkOpenFile(descriptor, file);
        if (isWhole && isPack(file.path)) descriptors.set(file.path, descriptor);
        return descriptors.has(file.path);
      });
    }
    const prepared = checkIndex(manifest, contents, current);
    const lastUsed = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
    const opened = {
      dir,
      manifest,
      manifestFile,
      isWhole,
      bytes,
      contents,
      descriptors,
      identities,
    };
    return { ...opened, prepared, lastUsed };
  } catch (error) {
    for (const descriptor of descriptors.values()) closeSync(descriptor);
    throw error;
  }
}

/** The content of a file that is in memory. */
export function contentOf(contents: ReadonlyMap<string, Uint8Array>, name: string): Uint8Array {
  const content = contents.get(name);
  if (content === undefined) throw new Error(`${name} is not in memory.`);
  return content;
}

/** Checks the values of the indexes. @returns what a search needs besides */
function checkIndex(
  manifest: Manifest,
  contents: ReadonlyMap<string, Uint8Array>,
  current: Replaced | undefined,
): PreparedSearch {
  const content = (name: string) => contentOf(contents, name);
  const records = openIndex(manifest, content);
  const search = openSearchIndex(content);
  checkFilters(search, records.games.byteLength.length);
  if (current === undefined) return prepareSearch(search, records);
  if (haveSameWords(manifest, current.manifest)) {
    return prepareAgain(current.prepared, search, records);
  }
  const index = openSearchIndex((name) => contentOf(current.contents, name));
  return prepareSearch(search, records, { index, prepared: current.prepared });
}

/** Whether the search indexes of two generations have the same words, and as many games. */
function haveSameWords(manifest: Manifest, other: Manifest): boolean {
  const hashIn = ({ files }: Manifest) => files.find(({ path }) => path === WORD_INDEX)?.sha256;
  return manifest.counts.games === other.counts.games && hashIn(manifest) === hashIn(other);
}

/** Chooses the files to keep in memory. Packs of games come first, since most requests read games. */
function chooseKept(files: readonly ManifestFile[], mostMemory: number): ManifestFile[] {
  const kept = files.filter(({ path: name }) => KEPT.includes(name));
  let room = mostMemory - kept.reduce((sum, { size }) => sum + size, 0);
  for (const folder of [GAME_PACKS, COVER_PACKS]) {
    for (const file of files) {
      if (!file.path.startsWith(folder) || file.size > room) continue;
      kept.push(file);
      room -= file.size;
    }
  }
  return kept;
}

/**
 * Reads and checks an open file. Each file has a block of memory of its own, which the next generation
 * shares if it has the same file.
 */
function readShared(descriptor: number, file: ManifestFile): Uint8Array {
  const content = new Uint8Array(new SharedArrayBuffer(file.size));
  checkOpenFile(descriptor, file, (read, from) => {
    content.set(read, from);
    return from + read.length;
  });
  return content;
}

/**
 * Opens a file and checks that it has the size in the manifest.
 * @param use returns true to keep the descriptor open; otherwise it is closed
 */
function withFile(dir: string, file: ManifestFile, use: (descriptor: number) => boolean): void {
  const descriptor = openSized(dir, file);
  let isKept = false;
  try {
    isKept = use(descriptor);
  } finally {
    if (!isKept) closeSync(descriptor);
  }
}
