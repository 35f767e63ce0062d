/**
 * Opens the files of a generation. Each is checked against the manifest, and the values of the index
 * against one another, so that a damaged or forged generation is refused before it serves.
 * Runs on a thread of its own, since a large catalogue is gigabytes.
 */
import { closeSync } from 'node:fs';
import { checkSearchIndex } from '../../format/index/check-search-index.ts';
import { openSearchIndex } from '../../format/index/search-index.ts';
import {
  COVER_INDEX,
  COVERS_RECENT,
  GAME_INDEX,
  PLATFORM_INDEX,
  PLATFORMS,
  SEARCH_INDEX,
  STATS,
} from '../../format/layout.ts';
import type { Manifest, ManifestFile } from '../../format/manifest.ts';
import { checkOpenFile, openSized } from '../../store/files/checked-files.ts';
import { checkId, readManifest } from '../../store/generations/manifest-file.ts';
import { openIndex } from '../../store/generations/open-index.ts';
import { makeSpellingIndex, type SpellingIndex } from '../search/spelling-index.ts';
import { identityOf } from './pack-files.ts';

export interface OpenOrder {
  readonly dir: string;
  /** The id of the generation that the folder must contain. */
  readonly id: string;
  /**
   * For a generation that becomes current: how many bytes to keep in memory. The index always is,
   * packs as far as they fit; the other packs are opened. Undefined for a generation that is asked for
   * by name: its packs are not kept in memory, and are opened only when they are read.
   */
  readonly mostMemory: number | undefined;
  /** What {@link OpenedFiles.identities} was when this generation was last opened. */
  readonly known: ReadonlyMap<string, string> | undefined;
}

/** An order after the first look at the folder. */
export interface Plan {
  readonly order: OpenOrder;
  readonly manifest: Manifest;
  readonly kept: readonly ManifestFile[];
  /** How much memory the files that are kept take. */
  readonly bytes: number;
}

/** All that a serving thread needs; everything in it can be shared by threads. */
export interface OpenedFiles {
  readonly dir: string;
  readonly manifest: Manifest;
  /** Whether it was opened to be current. */
  readonly isWhole: boolean;
  readonly bytes: number;
  /** By path: the files in memory. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** By path: packs that are open. */
  readonly descriptors: ReadonlyMap<string, number>;
  /** By path, for every file that is not in memory: its identity when it was checked. */
  readonly identities: ReadonlyMap<string, string>;
  readonly spellings: SpellingIndex;
  /** One entry: when a request last named this generation, by the clock that threads share. */
  readonly lastUsed: Float64Array;
}

/** The files that are kept in memory whatever their size. */
const KEPT: readonly string[] = [
  PLATFORMS,
  STATS,
  COVERS_RECENT,
  PLATFORM_INDEX,
  GAME_INDEX,
  COVER_INDEX,
  SEARCH_INDEX,
];

const PACK_FOLDERS = ['games/', 'covers/'];

/** @throws Error saying what is missing or damaged, with the file's name */
export function planOpening(order: OpenOrder): Plan {
  const manifest = readManifest(order.dir);
  checkId(manifest, order.id);
  // Before memory is taken: a manifest can promise any size.
  for (const file of manifest.files) withFile(order.dir, file, () => false);
  const kept = chooseKept(manifest.files, order.mostMemory ?? 0);
  return { order, manifest, kept, bytes: kept.reduce((sum, file) => sum + roomOf(file), 0) };
}

/** @throws Error saying what is missing or damaged, with the file's name */
export function openFiles({ order, manifest, kept, bytes }: Plan): OpenedFiles {
  const { dir, mostMemory, known } = order;
  const isWhole = mostMemory !== undefined;
  const contents = makeRoom(kept, bytes);
  const descriptors = new Map<string, number>();
  const identities = new Map<string, string>();
  try {
    for (const file of manifest.files) {
      const content = contents.get(file.path);
      withFile(dir, file, (descriptor) => {
        if (content !== undefined) {
          checkOpenFile(descriptor, file, (read, from) => {
            content.set(read, from);
            return from + read.length;
          });
          return false;
        }
        const identity = identityOf(file, descriptor);
        // A file that did not change since it was hashed is not hashed again.
        if (known?.get(file.path) !== identity) checkOpenFile(descriptor, file);
        identities.set(file.path, identity);
        if (isWhole && isPack(file.path)) descriptors.set(file.path, descriptor);
        return descriptors.has(file.path);
      });
    }
    const spellings = checkIndex(manifest, contents);
    const lastUsed = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
    const opened = { dir, manifest, isWhole, bytes, contents, descriptors, identities };
    return { ...opened, spellings, lastUsed };
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

/** Checks the values of the index. @returns the index of near spellings, made from it */
function checkIndex(manifest: Manifest, contents: ReadonlyMap<string, Uint8Array>): SpellingIndex {
  const records = openIndex(manifest, (name) => contentOf(contents, name));
  const search = openSearchIndex(contentOf(contents, SEARCH_INDEX));
  checkSearchIndex(search, records.games.byteLength.length);
  return makeSpellingIndex(search.words);
}

/** Packs of games come before those of covers: most requests read games. */
function chooseKept(files: readonly ManifestFile[], mostMemory: number): ManifestFile[] {
  const kept = files.filter(({ path: name }) => KEPT.includes(name));
  let room = mostMemory - kept.reduce((sum, { size }) => sum + size, 0);
  for (const folder of PACK_FOLDERS) {
    for (const file of files) {
      if (!file.path.startsWith(folder) || file.size > room) continue;
      kept.push(file);
      room -= file.size;
    }
  }
  return kept;
}

/** How much memory a file takes: columns must begin at a multiple of 8. */
function roomOf({ size }: ManifestFile): number {
  return Math.ceil(size / 8) * 8;
}

/** One piece of memory for all files: the system gets so large a piece back as soon as it is freed. */
function makeRoom(files: readonly ManifestFile[], bytes: number): Map<string, Uint8Array> {
  const memory = new SharedArrayBuffer(bytes);
  let end = 0;
  return new Map(
    files.map((file) => {
      const start = end;
      end += roomOf(file);
      return [file.path, new Uint8Array(memory, start, file.size)];
    }),
  );
}

/** @param name a path in the generation */
export function isPack(name: string): boolean {
  return PACK_FOLDERS.some((folder) => name.startsWith(folder));
}

/**
 * Opens a file of the size that the manifest says.
 * @param use returns whether it keeps the descriptor, which is closed otherwise
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
