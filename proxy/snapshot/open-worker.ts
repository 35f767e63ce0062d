/**
 * The worker thread that opens a generation: it reads and hashes every file against the manifest,
 * so that a damaged generation is refused before it serves anything and the serving thread never
 * waits for gigabytes. It hands back open descriptors and the index in shared memory.
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

/** What the worker posts: descriptors of the packs by path, contents of the other files by path. */
export interface OpenedFiles {
  readonly manifest: Manifest;
  readonly descriptors: ReadonlyMap<string, number>;
  readonly contents: ReadonlyMap<string, SharedArrayBuffer>;
  readonly spellings: SpellingIndex;
}

const CHUNK_BYTES = 1024 * 1024;
const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** The files that are kept in memory; packs are read by ranges, the rest is only checked. */
const KEPT: readonly string[] = [
  PLATFORMS,
  STATS,
  COVERS_RECENT,
  PLATFORM_INDEX,
  GAME_INDEX,
  COVER_INDEX,
  SEARCH_INDEX,
];

function openFiles(dir: string): OpenedFiles {
  const manifest = readManifest(dir);
  const descriptors = new Map<string, number>();
  const contents = new Map<string, SharedArrayBuffer>();
  try {
    for (const file of manifest.files) {
      const descriptor = openSync(path.join(dir, file.path), 'r');
      const isPack = file.path.startsWith('games/') || file.path.startsWith('covers/');
      if (isPack) descriptors.set(file.path, descriptor);
      try {
        const kept = KEPT.includes(file.path) ? new SharedArrayBuffer(file.size) : undefined;
        checkFile(descriptor, file, kept);
        if (kept !== undefined) contents.set(file.path, kept);
      } finally {
        if (!isPack) closeSync(descriptor);
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

parentPort?.postMessage(openFiles((workerData as { dir: string }).dir));
