/**
 * Sends the objects of a generation that a store does not have: its files, compressed, and deltas
 * from the files of another generation, which replicas have. Every file is checked against the manifest
 * while it is read, so a damaged one never reaches a store.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createZstdCompress, constants as zlib, zstdCompress } from 'node:zlib';
import { DELTA_PARAMETERS, LARGEST_DELTA_FILE } from '../../format/delta.ts';
import type { Manifest, ManifestFile } from '../../format/manifest.ts';
import {
  type ObjectList,
  PREFIXES,
  remoteDelta,
  remoteFile,
  type StoredDelta,
} from '../../format/remote-layout.ts';
import { readChecked } from '../../generations/files/checked-files.ts';
import { generationDir, readManifest } from '../../generations/generations.ts';
import { contentOf } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { inParallel } from '../transfer/in-parallel.ts';
import { tryAgain } from '../transfer/try-again.ts';

const compressWithDictionary = promisify(zstdCompress);

/** Compresses a catalogue of 257 MB to 49 MB. Level 9: to 47 MB, in half as much time again. */
const LEVEL = 6;
/**
 * For files that replaced another version. Replicas fetch the delta, and only new ones the whole
 * file. This level takes a quarter of the time, for a tenth more bytes.
 */
const FAST_LEVEL = 1;
/** Each takes up to 130 MB of memory: both versions, and the tables of zstd. */
const DELTAS_AT_ONCE = 2;
/** In bytes. With Node's usual pieces of 64 KB, a push takes 7 % more CPU time. */
const PIECE = 1024 * 1024;
/** In bytes. No delta is made of a file that is stored in less. */
const SMALLEST_STORED = 1024;

export interface PutPlan {
  readonly snapshotsDir: string;
  readonly manifest: Manifest;
  /** The id of the generation from whose files deltas lead to those of this one; undefined for none. */
  readonly baseId: string | undefined;
  /** The deltas that the store had for this generation. */
  readonly known: readonly StoredDelta[];
  readonly parallel: number;
  /** @param size of all files that are to be sent, not compressed, of which `done` bytes are sent */
  readonly onAdvance: (done: number, size: number) => void;
}

export interface PutCounts {
  /** How many files were sent. */
  readonly sent: number;
  /** How many deltas were sent. The log calls them differences, as the paths in a store do. */
  readonly differences: number;
  /** How many files were in the store before. */
  readonly present: number;
}

/** @returns the list of all objects of the generation, which are then in the store */
export async function putObjects(
  remote: RemoteStore,
  plan: PutPlan,
): Promise<{ list: ObjectList; counts: PutCounts }> {
  const stored = await listSizes(remote);
  const files = [...new Map(plan.manifest.files.map((file) => [file.sha256, file])).values()];
  const sizeOf = ({ sha256 }: ManifestFile) => stored.get(remoteFile(sha256)) ?? 0;
  const missing = files.filter((file) => sizeOf(file) === 0);
  const size = missing.reduce((sum, file) => sum + file.size, 0);
  let done = 0;
  const dir = generationDir(plan.snapshotsDir, plan.manifest.id);
  const changed = changedFiles(plan);
  const hasDelta = new Set(changed.map(([, { sha256 }]) => sha256));
  await inParallel(
    largestFirst(missing, ({ size }) => size),
    plan.parallel,
    async (file) => {
      const level = hasDelta.has(file.sha256) ? FAST_LEVEL : LEVEL;
      const compressed = await compress(dir, file, level);
      await put(remote, remoteFile(file.sha256), compressed);
      stored.set(remoteFile(file.sha256), compressed.length);
      done += file.size;
      plan.onAdvance(done, size);
    },
  );
  const deltas = await putDeltas(remote, plan, changed, stored);
  return {
    list: {
      format_version: 1,
      files: files.map((file) => ({ sha256: file.sha256, stored_size: sizeOf(file) })),
      differences: deltas.list,
    },
    counts: {
      sent: missing.length,
      differences: deltas.sent,
      present: files.length - missing.length,
    },
  };
}

/** The sizes of the files and deltas in a store, by path. */
async function listSizes(remote: RemoteStore): Promise<Map<string, number>> {
  const lists = await Promise.all(
    [PREFIXES.files, PREFIXES.deltas].map((prefix) =>
      tryAgain(`list ${prefix}`, () => remote.list(prefix)),
    ),
  );
  return new Map(lists.flat().map((object) => [object.path, object.size]));
}

async function putDeltas(
  remote: RemoteStore,
  plan: PutPlan,
  changed: readonly ChangedFile[],
  stored: ReadonlyMap<string, number>,
): Promise<{ list: StoredDelta[]; sent: number }> {
  const kept = plan.known.filter(({ from, to }) => stored.has(remoteDelta(from, to)));
  const deltas = new Map(kept.map((entry) => [remoteDelta(entry.from, entry.to), entry]));
  let sent = 0;
  const queue = largestFirst(changed, ([, to]) => to.size);
  await inParallel(queue, DELTAS_AT_ONCE, async ([from, to]) => {
    const name = remoteDelta(from.sha256, to.sha256);
    if (deltas.has(name)) return;
    let size = stored.get(name) ?? 0;
    if (size === 0) {
      const whole = stored.get(remoteFile(to.sha256)) ?? 0;
      const delta = await makeDelta(plan, from, to, whole);
      if (delta === undefined) return;
      await put(remote, name, delta);
      size = delta.length;
      sent++;
    }
    deltas.set(name, { from: from.sha256, to: to.sha256, stored_size: size });
  });
  return { list: [...deltas.values()], sent };
}

/** So that no core waits at the end for a large file that another one has just begun. */
function largestFirst<T>(items: readonly T[], sizeIn: (item: T) => number): T[] {
  return items.toSorted((a, b) => sizeIn(b) - sizeIn(a));
}

/** A file that is in both generations under the same path, with other content. */
type ChangedFile = readonly [from: ManifestFile, to: ManifestFile];

function changedFiles({ snapshotsDir, manifest, baseId }: PutPlan): ChangedFile[] {
  if (baseId === undefined || baseId === manifest.id) return [];
  let base: Manifest;
  try {
    base = readManifest(generationDir(snapshotsDir, baseId));
  } catch {
    // It was pruned here, or another machine has pushed it.
    return [];
  }
  const before = new Map(base.files.map((file) => [file.path, file]));
  return manifest.files.flatMap((file): ChangedFile[] => {
    const old = before.get(file.path);
    return old === undefined || old.sha256 === file.sha256 ? [] : [[old, file]];
  });
}

/** @returns undefined if a delta would not save much, or the earlier version is damaged */
async function makeDelta(
  { snapshotsDir, manifest, baseId = '' }: PutPlan,
  from: ManifestFile,
  to: ManifestFile,
  stored: number,
): Promise<Buffer | undefined> {
  if (stored < SMALLEST_STORED || from.size === 0) return undefined;
  if (Math.max(from.size, to.size) > LARGEST_DELTA_FILE) return undefined;
  const content = readChecked(generationDir(snapshotsDir, manifest.id), to);
  let dictionary: Buffer;
  try {
    dictionary = readChecked(generationDir(snapshotsDir, baseId), from);
  } catch {
    return undefined;
  }
  // With the size in its head, a delta is decoded in half the time.
  const options = { dictionary, params: DELTA_PARAMETERS, pledgedSrcSize: content.length };
  const compressed = await compressWithDictionary(content, options);
  return compressed.length > stored / 2 ? undefined : compressed;
}

/** @throws Error if the file is damaged */
async function compress(dir: string, file: ManifestFile, level: number): Promise<Buffer> {
  const sha256 = createHash('sha256');
  const pieces: Buffer[] = [];
  await pipeline(
    createReadStream(path.join(dir, file.path), { highWaterMark: PIECE }),
    async function* (source: AsyncIterable<Buffer>) {
      for await (const piece of source) {
        sha256.update(piece);
        yield piece;
      }
    },
    createZstdCompress({
      params: { [zlib.ZSTD_c_compressionLevel]: level },
      pledgedSrcSize: file.size,
    }),
    async (source: AsyncIterable<Buffer>) => {
      for await (const piece of source) pieces.push(piece);
    },
  ).catch((cause: Error) => {
    throw new Error(`compress ${file.path}: ${cause.message}`, { cause });
  });
  if (sha256.digest('hex') === file.sha256) return Buffer.concat(pieces);
  throw new Error(
    `${file.path} is damaged: its SHA-256 is not the one in the manifest. Check the generation with "cover-catalogue snapshot verify".`,
  );
}

async function put(remote: RemoteStore, name: string, bytes: Buffer): Promise<void> {
  const content = contentOf(bytes);
  await tryAgain(`write ${name}`, () => remote.put(name, content));
}
