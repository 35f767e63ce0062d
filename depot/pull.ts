/**
 * Makes the generation that a release names the current one of a snapshots folder: fetches the files that
 * are not there yet, links the others, and publishes it under its id. Every byte is checked against the
 * manifest, and the manifest against the release.
 *
 * Invariant: until a generation is complete and verified, the old one stays current. Complete files of a pull
 * that fails or is killed stay in `pull/` for the next one, each under its SHA-256.
 */
import { createHash, hash } from 'node:crypto';
import { closeSync, fsync, readdirSync, renameSync, rmSync, statfsSync, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { PULL_FOLDER } from '../format/layout.ts';
import {
  findOtherCollation,
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../format/manifest.ts';
import { type Release, storedFile, storedManifest } from '../format/release.ts';
import type { FileChecks } from '../generations/files/checked-files.ts';
import { makeFolder, openForWriting, place } from '../generations/files/file-modes.ts';
import { generationDir, listGenerations, readManifestBytes } from '../generations/generations.ts';
import { HeldError, whyHeld } from '../generations/hold.ts';
import { withLock } from '../generations/lock.ts';
import { beginGeneration } from '../generations/prune.ts';
import { publishAs, readPrevious } from '../generations/publish.ts';
import { type Depot, GoneError, RefusedReleaseError } from './depot.ts';
import { type Clock, contentOf, inParallel, readObject, tryAgain } from './transfers.ts';

const PARALLEL = 4;
const fsyncAsync = promisify(fsync);

export interface PullOptions {
  readonly snapshotsDir: string;
  /** The files that this process knows to be intact, so that they are not hashed again. */
  readonly known: FileChecks;
  readonly report: TransferReport;
  readonly clock: Clock;
  /** How many files are fetched at the same time; 4 by default. */
  readonly parallel?: number | undefined;
}

/** Is told how a pull or a push advances. */
export interface TransferReport {
  /** @param size of all files that are transferred, in bytes and not compressed; `done` of them are */
  advance(done: number, size: number): void;
  step(text: string): void;
  warn(text: string): void;
}

export interface Pulled {
  readonly manifest: Manifest;
  /** How many files were fetched, how many were there already, and how many bytes were received. */
  readonly fetched: number;
  readonly linked: number;
  readonly received: number;
}

/**
 * @returns undefined if the generation is current and intact
 * @throws LockedError, HeldError, GoneError, RefusedReleaseError; any other Error names what failed
 */
export async function pull(
  depot: Depot,
  release: Release,
  options: PullOptions,
): Promise<Pulled | undefined> {
  const { snapshotsDir } = options;
  const held = whyHeld(snapshotsDir);
  if (held !== undefined) throw new HeldError(held);
  return withLock(snapshotsDir, async () => {
    const { dir, clear } = beginGeneration(snapshotsDir);
    try {
      const pulled = await pullInto(dir, depot, release, options);
      rmSync(path.join(snapshotsDir, PULL_FOLDER), { recursive: true, force: true });
      return pulled;
    } finally {
      clear();
    }
  });
}

async function pullInto(
  dir: string,
  depot: Depot,
  release: Release,
  options: PullOptions,
): Promise<Pulled | undefined> {
  const { snapshotsDir, known, report, clock } = options;
  const previous = readPrevious(snapshotsDir);
  const encoded =
    readLocalManifest(snapshotsDir, release.id, release.sha256) ??
    (await fetchManifest(depot, release, clock));
  const manifest = parse(encoded, depot, release);
  const collation = findOtherCollation(manifest);
  if (collation !== undefined) report.warn(`Warning: ${collation}`);
  const here = generationDir(snapshotsDir, manifest.id);
  const isCurrent = previous.id === manifest.id;
  if (isCurrent && manifest.files.every((file) => known.isIntact(here, file))) return undefined;
  const counts = await gather(depot, manifest, dir, options);
  report.step('verifying and publishing');
  await publishAs(snapshotsDir, dir, { manifest, encoded }, previous, {
    warn: report.warn,
    known,
    // What was taken down at the origin goes here too. Its operator is the one who rolls back.
    keep: 1,
  });
  return { manifest, ...counts };
}

/**
 * The bytes of the manifest of a generation that is here; undefined if it is not, or cannot be read.
 * @param sha256 if given, that of the manifest
 */
export function readLocalManifest(
  snapshotsDir: string,
  id: string,
  sha256?: string,
): Buffer | undefined {
  try {
    const encoded = readManifestBytes(generationDir(snapshotsDir, id));
    return sha256 === undefined || hash('sha256', encoded) === sha256 ? encoded : undefined;
  } catch {
    return undefined;
  }
}

async function fetchManifest(depot: Depot, { id, sha256 }: Release, clock: Clock): Promise<Buffer> {
  const name = storedManifest(id);
  const encoded = await readObject(depot, name, LARGEST_MANIFEST, clock);
  if (encoded === undefined) throw gone(depot, name);
  if (hash('sha256', encoded) === sha256) return encoded;
  throw new RefusedReleaseError(
    `${depot.name}: ${name} does not have the SHA-256 in the release: somebody has changed it, or a cache mixes versions. Push again.`,
  );
}

function parse(encoded: Buffer, depot: Depot, { id }: Release): Manifest {
  try {
    const manifest = parseManifest(encoded);
    if (manifest.id === id) return manifest;
    throw new Error(`it is that of ${manifest.id}.`);
  } catch (cause) {
    throw new RefusedReleaseError(
      `The manifest of ${id} at ${depot.name} is refused: ${(cause as Error).message}`,
      { cause },
    );
  }
}

function gone({ name }: Depot, path: string): GoneError {
  return new GoneError(
    `${name} no longer has ${path}: a newer generation was pushed, or somebody has removed it.`,
  );
}

/** Puts every file of the manifest into the folder of the new generation. */
async function gather(
  depot: Depot,
  manifest: Manifest,
  dir: string,
  { snapshotsDir, known, report, clock, parallel = PARALLEL }: PullOptions,
): Promise<Omit<Pulled, 'manifest'>> {
  const staging = path.join(snapshotsDir, PULL_FOLDER);
  makeFolder(staging);
  const wanted = new Set(manifest.files.map(({ sha256 }) => sha256));
  for (const name of readdirSync(staging)) {
    if (!wanted.has(name)) rmSync(path.join(staging, name), { recursive: true, force: true });
  }
  const local = findLocal(snapshotsDir);
  // Files with the same content are fetched once.
  const missing = Map.groupBy(manifest.files, ({ sha256 }) => sha256);
  for (const [sha256, files] of missing) {
    const [file] = files;
    const staged = { dir: staging, file: { ...file, path: sha256 } as ManifestFile };
    const equal = [local.get(sha256), staged].find(
      (each) =>
        each !== undefined && known.isIntact(each.dir, { ...each.file, size: staged.file.size }),
    );
    if (equal === undefined) continue;
    for (const each of files)
      place(path.join(equal.dir, equal.file.path), path.join(dir, each.path));
    missing.delete(sha256);
  }
  const contents = [...missing.values()] as [ManifestFile, ...ManifestFile[]][];
  const size = contents.reduce((sum, [file]) => sum + file.size, 0);
  checkSpace(snapshotsDir, size, depot);
  const fetched = contents.reduce((sum, files) => sum + files.length, 0);
  report.step(
    `${manifest.id}: ${fetched} of ${manifest.files.length} files are not here yet (${megabytes(size)} MB)`,
  );
  let done = 0;
  let received = 0;
  const ending = new AbortController();
  await inParallel(
    contents.toSorted(([a], [b]) => b.size - a.size),
    parallel,
    async (files) => {
      const target = path.join(staging, files[0].sha256);
      const count = (bytes: number) => {
        received += bytes;
      };
      await tryAgain(
        files[0].path,
        () => fetchFile(depot, files[0], target, count, ending.signal),
        clock,
      );
      for (const each of files) place(target, path.join(dir, each.path));
      done += files[0].size;
      report.advance(done, size);
    },
    (error) => {
      // If the generation was replaced, the newer one may have the files that are under way.
      if (!(error instanceof GoneError)) ending.abort(new Error('The pull has ended.'));
    },
  );
  return { fetched, linked: manifest.files.length - fetched, received };
}

/** The files of the generations that are kept, by their SHA-256; of the newest, if several have one. */
function findLocal(snapshotsDir: string): Map<string, { dir: string; file: ManifestFile }> {
  return new Map(
    listGenerations(snapshotsDir).flatMap(({ id, manifest }) => {
      const dir = generationDir(snapshotsDir, id);
      return (manifest?.files ?? []).map((file) => [file.sha256, { dir, file }] as const);
    }),
  );
}

function checkSpace(snapshotsDir: string, size: number, { name }: Depot): void {
  const { bavail, bsize } = statfsSync(snapshotsDir);
  if (size <= bavail * bsize) return;
  throw new Error(
    `ENOSPC: ${name} announces ${megabytes(size)} MB that are not here yet, and the disk of ${snapshotsDir} has ${megabytes(bavail * bsize)} MB free. Free space there.`,
  );
}

/**
 * Fetches one file. It has its final name only when it is complete and intact.
 * @param count called with the number of bytes received
 */
async function fetchFile(
  depot: Depot,
  file: ManifestFile,
  target: string,
  count: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const name = storedFile(file.sha256);
  const found = await depot.get(name, { signal });
  if (typeof found === 'string') throw gone(depot, name);
  const part = `${target}.part`;
  const descriptor = openForWriting(part, 'w');
  try {
    const sha256 = createHash('sha256');
    const bytes = counted(found.bytes, count);
    for await (const piece of contentOf({ ...found, bytes }, file.size, `${name} (${file.path})`)) {
      sha256.update(piece);
      for (let at = 0; at < piece.length; ) at += writeSync(descriptor, piece, at);
    }
    if (sha256.digest('hex') !== file.sha256) {
      throw new RefusedReleaseError(
        `${file.path}: ${name} at ${depot.name} does not have the SHA-256 in the manifest. Nothing is published.`,
      );
    }
    await fsyncAsync(descriptor);
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

async function* counted(bytes: AsyncIterable<Buffer>, count: (bytes: number) => void) {
  for await (const piece of bytes) {
    count(piece.length);
    yield piece;
  }
}

/** Bytes as megabytes with one decimal. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
