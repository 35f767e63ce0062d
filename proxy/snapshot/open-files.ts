/**
 * Opens the files of a generation, and checks the size and the hash of each against the manifest, so that a damaged
 * generation is refused before it is served. What is in the files was checked when the generation was published or
 * arrived. It runs on a separate thread, since a large catalogue has gigabytes.
 */
import { closeSync, fstatSync } from 'node:fs';
import { openSearch } from '../../find/search/open.ts';
import { type PreparedSearch, prepareSearch } from '../../find/search/prepare-search.ts';
import { openFindFiles } from '../../lib/format/index/index-file.ts';
import { openRecordIndex } from '../../lib/format/index/record-index.ts';
import { parseRemovedFile } from '../../lib/format/index/removed.ts';
import {
  FIXED_FILES,
  MINISEARCH,
  MINISEARCH_OPTIONS_FILE,
  REMOVED,
  WORD_INDEX,
} from '../../lib/format/layout.ts';
import type { Manifest, ManifestFile } from '../../lib/format/manifest.ts';
import {
  checkOpenFile,
  identityIn,
  openSized,
  readOpenFile,
} from '../../lib/generations/files/checked-files.ts';
import { checkFolderName, readManifestFile } from '../../lib/generations/generations.ts';
import { type PackedRemoved, packRemoved } from './changes.ts';
import { type FilesOnDisk, newDownloadCount } from './stored-files.ts';

export interface OpenOrder {
  readonly dir: string;
  /** The id of the generation that the folder must contain. */
  readonly id: string;
  /**
   * The generation that the opened one will replace, if any. Both share the memory of files that are the
   * same files in both, and the search is prepared again only as far as needed: after a small change this
   * saves most of the CPU time of a switch.
   */
  readonly current?: OpenedFiles | undefined;
}

/** Everything that a thread needs to serve a generation. All of it can be shared by threads. */
export interface OpenedFiles extends FilesOnDisk {
  /** The files in memory, by path. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  readonly prepared: PreparedSearch;
  readonly removed: PackedRemoved;
}

/** The files that are kept in memory: all that requests need, except packs. */
const ONLY_SENT = [MINISEARCH, MINISEARCH_OPTIONS_FILE];
const IN_MEMORY = FIXED_FILES.filter((name) => !ONLY_SENT.includes(name));

/** @throws Error that names the file which is missing or damaged */
export function openFiles({ dir, id, current }: OpenOrder): OpenedFiles {
  const { manifest, file: manifestFile } = readManifestFile(dir);
  checkFolderName(manifest, id);
  const contents = new Map<string, Uint8Array>();
  const descriptors = new Map<string, number>();
  const identities = new Map<string, string>();
  try {
    for (const file of [...manifest.files, manifestFile]) {
      const descriptor = openSized(dir, file);
      descriptors.set(file.path, descriptor);
      const identity = identityIn(fstatSync(descriptor, { bigint: true }), file.sha256);
      identities.set(file.path, identity);
      const isSame = current?.identities.get(file.path) === identity;
      if (IN_MEMORY.includes(file.path)) {
        const before = isSame ? current?.contents.get(file.path) : undefined;
        contents.set(file.path, before ?? readShared(descriptor, file));
      } else if (!isSame) {
        // A file that was checked for the current generation need not be hashed again.
        checkOpenFile(descriptor, file);
      }
    }
    const prepared = prepare(manifest, contents, current);
    const downloads = newDownloadCount();
    return { manifest, manifestFile, contents, descriptors, identities, downloads, ...prepared };
  } catch (error) {
    for (const descriptor of descriptors.values()) closeSync(descriptor);
    throw error;
  }
}

/**
 * Tells V8 how much memory the files take, when a thread begins to use them. V8 does not count shared
 * memory, so it would keep closed generations until other objects fill the heap, which can take hours. An
 * array that is never written takes no memory, but V8 counts it, and collects garbage when it must.
 */
export function reportMemory({ contents }: Pick<OpenedFiles, 'contents'>): void {
  let bytes = 0;
  for (const content of contents.values()) bytes += content.byteLength;
  try {
    new ArrayBuffer(bytes);
  } catch {
    // A system that does not overcommit memory may refuse it. V8 then collects later.
  }
}

/** The content of a file that is in memory. */
export function contentOf(contents: ReadonlyMap<string, Uint8Array>, name: string): Uint8Array {
  const content = contents.get(name);
  if (content === undefined) throw new Error(`${name} is not in memory.`);
  return content;
}

/** Makes what a search and a list of changes need besides the files. */
function prepare(
  manifest: Manifest,
  contents: ReadonlyMap<string, Uint8Array>,
  current: OpenedFiles | undefined,
): Pick<OpenedFiles, 'prepared' | 'removed'> {
  const content = (name: string) => contentOf(contents, name);
  const records = openRecordIndex(content);
  const search = openSearch(openFindFiles(content), records.games.rank.length);
  const removed = Buffer.from(content(REMOVED)).toString('latin1');
  const isSame = current !== undefined && haveSameWords(manifest, current.manifest);
  return {
    prepared: prepareSearch(search, records, isSame ? current.prepared : undefined),
    removed: packRemoved(parseRemovedFile(removed, manifest.sequence), records),
  };
}

/** Whether the search indexes of two generations have the same words, and as many games. */
function haveSameWords(manifest: Manifest, other: Manifest): boolean {
  const hashIn = ({ files }: Manifest) => files.find(({ path }) => path === WORD_INDEX)?.sha256;
  return manifest.counts.games === other.counts.games && hashIn(manifest) === hashIn(other);
}

/**
 * Reads and checks an open file. Each file has a block of memory of its own, which the next generation
 * shares if it has the same file.
 */
function readShared(descriptor: number, file: ManifestFile): Uint8Array {
  const content = new Uint8Array(new SharedArrayBuffer(file.size));
  readOpenFile(descriptor, file, content);
  return content;
}
