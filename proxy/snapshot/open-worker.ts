/**
 * The worker thread that opens a generation: it reads and hashes every file against the manifest,
 * so that a damaged generation is refused before it serves anything and the serving thread never
 * waits for gigabytes. It hands back shared memory, and open descriptors of what does not fit there.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import {
  COVER_INDEX,
  COVERS_RECENT,
  GAME_INDEX,
  MANIFEST,
  PLATFORM_INDEX,
  PLATFORMS,
  SEARCH_INDEX,
  STATS,
} from '../../format/layout.ts';
import {
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../../format/manifest.ts';
import { openSearchIndex } from '../../format/search-index.ts';
import { makeSpellingIndex, type SpellingIndex } from '../search/near-spellings.ts';

/** What the worker is started with. */
export interface OpenOrder {
  readonly dir: string;
  /** In bytes, for all that is kept in memory; the index is, however large it is. */
  readonly mostMemory: number;
}

/** What the worker posts, all by path: a pack's content, or its descriptor where it is read by ranges. */
export interface OpenedFiles {
  readonly manifest: Manifest;
  readonly descriptors: ReadonlyMap<string, number>;
  readonly contents: ReadonlyMap<string, SharedArrayBuffer>;
  readonly spellings: SpellingIndex;
}

const CHUNK_BYTES = 1024 * 1024;
const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);

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

function openFiles({ dir, mostMemory }: OpenOrder): OpenedFiles {
  const manifest = readManifest(dir);
  const descriptors = new Map<string, number>();
  const contents = new Map<string, SharedArrayBuffer>();
  const kept = chooseKept(manifest.files, mostMemory);
  try {
    for (const file of manifest.files) {
      const descriptor = openSync(path.join(dir, file.path), 'r');
      const isReadLater = isPack(file) && !kept.has(file.path);
      if (isReadLater) descriptors.set(file.path, descriptor);
      try {
        const content = kept.has(file.path) ? new SharedArrayBuffer(file.size) : undefined;
        checkFile(descriptor, file, content);
        if (content !== undefined) contents.set(file.path, content);
      } finally {
        if (!isReadLater) closeSync(descriptor);
      }
    }
    const search = openSearchIndex(new Uint8Array(contents.get(SEARCH_INDEX) as SharedArrayBuffer));
    return {
      manifest,
      descriptors,
      contents,
      spellings: makeSpellingIndex(search.words),
    };
  } catch (error) {
    for (const descriptor of descriptors.values()) closeSync(descriptor);
    throw error;
  }
}

/** Packs of games before those of covers: they are what pages and searches are made of. */
function chooseKept(files: readonly ManifestFile[], mostMemory: number): Set<string> {
  const kept = new Set<string>();
  let room = mostMemory;
  const keep = ({ path: name, size }: ManifestFile) => {
    kept.add(name);
    room -= size;
  };
  files.filter(({ path: name }) => KEPT.includes(name)).forEach(keep);
  for (const folder of PACK_FOLDERS) {
    for (const file of files) if (file.path.startsWith(folder) && file.size <= room) keep(file);
  }
  return kept;
}

function isPack({ path: name }: ManifestFile): boolean {
  return PACK_FOLDERS.some((folder) => name.startsWith(folder));
}

function readManifest(dir: string): Manifest {
  const descriptor = openSync(path.join(dir, MANIFEST), 'r');
  try {
    const { size } = fstatSync(descriptor);
    if (size > LARGEST_MANIFEST)
      throw new Error(`${MANIFEST} is larger than ${LARGEST_MANIFEST} bytes.`);
    const bytes = Buffer.alloc(size);
    let at = 0;
    while (at < size) {
      const read = readSync(descriptor, bytes, at, size - at, at);
      if (read === 0) break;
      at += read;
    }
    return parseManifest(bytes.toString('utf8', 0, at));
  } finally {
    closeSync(descriptor);
  }
}

function checkFile(
  descriptor: number,
  file: ManifestFile,
  kept: SharedArrayBuffer | undefined,
): void {
  const { size } = fstatSync(descriptor);
  if (size !== file.size) {
    throw new Error(
      `${file.path} is damaged: it has ${size} bytes, the manifest says ${file.size}.`,
    );
  }
  const target = kept === undefined ? undefined : new Uint8Array(kept);
  const sha256 = createHash('sha256');
  for (let at = 0; at < size; ) {
    const read = readSync(descriptor, chunk, 0, CHUNK_BYTES, at);
    if (read === 0) throw new Error(`${file.path} is damaged: it ends at byte ${at}.`);
    const bytes = chunk.subarray(0, read);
    sha256.update(bytes);
    target?.set(bytes.subarray(0, Math.min(read, size - at)), at);
    at += read;
  }
  if (sha256.digest('hex') !== file.sha256) {
    throw new Error(`${file.path} is damaged: its SHA-256 is not the one that the manifest says.`);
  }
}

parentPort?.postMessage(openFiles(workerData as OpenOrder));
