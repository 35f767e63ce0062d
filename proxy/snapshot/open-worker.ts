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
import { makeSpellingIndex, type SpellingIndex } from '../search/spelling-index.ts';

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
  readonly contents: ReadonlyMap<string, Uint8Array>;
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
  const contents = makeRoom(chooseKept(manifest.files, mostMemory));
  try {
    for (const file of manifest.files) {
      const descriptor = openSync(path.join(dir, file.path), 'r');
      const content = contents.get(file.path);
      const isReadLater = isPack(file) && content === undefined;
      if (isReadLater) descriptors.set(file.path, descriptor);
      try {
        checkFile(descriptor, file, content);
      } finally {
        if (!isReadLater) closeSync(descriptor);
      }
    }
    const search = openSearchIndex(contents.get(SEARCH_INDEX) as Uint8Array);
    return { manifest, descriptors, contents, spellings: makeSpellingIndex(search.words) };
  } catch (error) {
    for (const descriptor of descriptors.values()) closeSync(descriptor);
    throw error;
  }
}

/** Packs of games before those of covers: they are what pages and searches are made of. */
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

/** One piece of memory for all: as large as it is, the system has it back as soon as it is let go. */
function makeRoom(files: readonly ManifestFile[]): Map<string, Uint8Array> {
  // Columns must begin at a multiple of 8.
  const roomOf = ({ size }: ManifestFile) => Math.ceil(size / 8) * 8;
  const memory = new SharedArrayBuffer(files.reduce((sum, file) => sum + roomOf(file), 0));
  let end = 0;
  return new Map(
    files.map((file) => {
      const start = end;
      end += roomOf(file);
      return [file.path, new Uint8Array(memory, start, file.size)];
    }),
  );
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

function checkFile(descriptor: number, file: ManifestFile, content: Uint8Array | undefined): void {
  const { size } = fstatSync(descriptor);
  if (size !== file.size) {
    throw new Error(
      `${file.path} is damaged: it has ${size} bytes, the manifest says ${file.size}.`,
    );
  }
  const sha256 = createHash('sha256');
  for (let at = 0; at < size; ) {
    const read = readSync(descriptor, chunk, 0, CHUNK_BYTES, at);
    if (read === 0) throw new Error(`${file.path} is damaged: it ends at byte ${at}.`);
    const bytes = chunk.subarray(0, read);
    sha256.update(bytes);
    content?.set(bytes.subarray(0, Math.min(read, size - at)), at);
    at += read;
  }
  if (sha256.digest('hex') !== file.sha256) {
    throw new Error(`${file.path} is damaged: its SHA-256 is not the one that the manifest says.`);
  }
}

parentPort?.postMessage(openFiles(workerData as OpenOrder));
