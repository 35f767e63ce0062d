/**
 * Makes a snapshots folder a mirror: fetches the newest generation of a source, except for the files
 * that are there already, and publishes it under the same id. Everything is checked against the
 * manifest, so the source need not be trusted to be undamaged.
 *
 * Invariant: until a generation is complete and verified, the old one stays current. What was fetched
 * stays in the staging folder for the next run.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { MANIFEST, sequenceOf } from '../../format/layout.ts';
import {
  findOtherCollation,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../../format/manifest.ts';
import { type FileChecks, HASH_ALWAYS } from '../../generations/files/checked-files.ts';
import { place } from '../../generations/files/file-modes.ts';
import { generationDir } from '../../generations/generations.ts';
import { HeldError, whyHeld } from '../../generations/hold.ts';
import { withLock } from '../../generations/lock.ts';
import { beginGeneration } from '../../generations/prune.ts';
import { type Previous, publishAs, readPrevious } from '../../generations/publish.ts';
import type { Ending } from '../../generations/run-status.ts';
import { type Clock, systemClock } from '../transfer/clock.ts';
import { inParallel } from '../transfer/in-parallel.ts';
import { tryAgain } from '../transfer/try-again.ts';
import { fetchFile } from './fetch-file.ts';
import { findLocalFiles } from './local-files.ts';
import { GoneError, PullRefusedError, type Source } from './source.ts';
import { openStaging, removeStaging, type Staging } from './staging.ts';

export interface PullOptions {
  readonly snapshotsDir: string;
  /** How many files are fetched at the same time. */
  readonly parallel: number;
  /** Whether a generation may replace one with a higher sequence number. */
  readonly isForced: boolean;
  /**
   * If the publisher of the generation has checked its records: the files that this process knows. Then
   * only the bytes of files are checked, and not again if they are known.
   */
  readonly known?: FileChecks;
  /** Called just before a generation becomes current. If it throws, nothing becomes current. */
  readonly beforeCurrent?: () => void;
  readonly clock?: Clock;
  readonly report: PullReport;
}

/** Is told how a pull advances. */
export interface PullReport {
  /** @param size of all files that are to be fetched, in bytes, of which `staged` are there already */
  advance(staged: number, size: number): void;
  step(text: string): void;
  warn(text: string): void;
}

export interface PullResult {
  readonly outcome: 'published' | 'unchanged';
  readonly manifest: Manifest;
  /** How many files were fetched, and how many were there already. */
  readonly fetched: number;
  readonly linked: number;
}

/**
 * How often a pull begins again because its generation was replaced. Each time it keeps the files that the
 * newer generation has too, so it ends unless most of the catalogue changes again and again.
 */
const MOST_RESTARTS = 100;
/** In milliseconds. Several servers of one API may change to the newer generation one after another. */
const RESTART_MS = 200;

/**
 * @throws LockedError, HeldError, GoneError, PullRefusedError; any other Error names the step that failed
 */
export async function pull(source: Source, options: PullOptions): Promise<PullResult> {
  const { snapshotsDir, report, clock = systemClock } = options;
  const held = whyHeld(snapshotsDir);
  if (held !== undefined) throw new HeldError(held);
  return withLock(snapshotsDir, async () => {
    try {
      for (let restarts = 0; ; restarts++) {
        try {
          return await pullNewest(source, options);
        } catch (error) {
          const isOver = !source.canAdvance || restarts === MOST_RESTARTS;
          if (!(error instanceof GoneError) || isOver) throw error;
          report.step(`${error.message} Continuing with the newest one`);
          await clock.pause(RESTART_MS);
        }
      }
    } finally {
      source.close();
    }
  });
}

async function pullNewest(source: Source, options: PullOptions): Promise<PullResult> {
  const { snapshotsDir, report } = options;
  const { dir, clear } = beginGeneration(snapshotsDir);
  try {
    const previous = readPrevious(snapshotsDir);
    const { manifest, encoded } = await readNewest(source, options, previous);
    const collation = findOtherCollation(manifest);
    if (collation !== undefined) report.warn(`Warning: ${collation}`);
    if (encoded === undefined) {
      removeStaging(snapshotsDir);
      return { outcome: 'unchanged', manifest, fetched: 0, linked: manifest.files.length };
    }
    if (!options.isForced) refuseOlder(manifest, previous, source);
    const staging = openStaging(snapshotsDir, options.known);
    const counts = await fetchAll(source, manifest, dir, staging, options);
    report.step('verifying and publishing');
    await publishAs(snapshotsDir, dir, { manifest, encoded }, previous, {
      warn: report.warn,
      known: options.known,
      beforeCurrent: options.beforeCurrent,
      // What was taken down at the source goes here too. Its operator is the one who rolls back.
      keep: 1,
    });
    removeStaging(snapshotsDir);
    return { outcome: 'published', manifest, ...counts };
  } finally {
    clear();
  }
}

/** @returns without `encoded`, if the newest generation is the current one, and it is intact */
async function readNewest(
  source: Source,
  { snapshotsDir, known: files = HASH_ALWAYS, clock }: PullOptions,
  previous: Previous,
): Promise<{ manifest: Manifest; encoded: Buffer | undefined }> {
  const known = readKnown(snapshotsDir, previous);
  const encoded = await tryAgain(
    'read the manifest',
    () => source.manifest(known && hash('sha256', known.encoded)),
    () => 0,
    clock,
  );
  if (known !== undefined && (encoded === undefined || encoded.equals(known.encoded))) {
    const dir = generationDir(snapshotsDir, known.manifest.id);
    const isWhole = known.manifest.files.every((file) => files.isIntact(dir, file));
    return { manifest: known.manifest, encoded: isWhole ? undefined : known.encoded };
  }
  if (encoded === undefined) throw new Error(`${source.name} sent no manifest.`);
  try {
    return { manifest: parseManifest(encoded.toString('utf8')), encoded };
  } catch (cause) {
    throw new PullRefusedError(
      `The manifest of ${source.name} is refused: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** The manifest of the current generation, and its bytes; undefined if it is damaged. */
function readKnown(
  snapshotsDir: string,
  { id, manifest }: Previous,
): { manifest: Manifest; encoded: Buffer } | undefined {
  if (id === undefined || manifest === undefined || manifest.id !== id) return undefined;
  return {
    manifest,
    encoded: readFileSync(path.join(generationDir(snapshotsDir, id), MANIFEST)),
  };
}

function refuseOlder({ id }: Manifest, previous: Previous, source: Source): void {
  if (previous.id === undefined || previous.id === id) return;
  if (sequenceOf(id) > sequenceOf(previous.id)) return;
  throw new PullRefusedError(
    `${source.name} offers ${id}, which does not come after the current generation ${previous.id}. Nothing is published. If the source was installed again, run with --force.`,
  );
}

/** Puts every file of the manifest into the folder of the new generation. */
async function fetchAll(
  source: Source,
  manifest: Manifest,
  dir: string,
  staging: Staging,
  { snapshotsDir, parallel, report, known, clock = systemClock }: PullOptions,
): Promise<{ fetched: number; linked: number }> {
  staging.keepOnly(manifest.files);
  const local = findLocalFiles(snapshotsDir, known);
  const missing: ManifestFile[] = [];
  for (const file of manifest.files) {
    const equal = local.findEqual(file);
    if (equal === undefined) missing.push(file);
    else place(equal, path.join(dir, file.path));
  }
  // Files with the same content are fetched once.
  const contents = [...Map.groupBy(missing, ({ sha256 }) => sha256).values()];
  const size = contents.reduce((sum, [file]) => sum + file.size, 0);
  report.step(
    `${manifest.id}: ${missing.length} of ${manifest.files.length} files are not here yet (${megabytes(size)} MB)`,
  );
  const positions = new Map<string, number>();
  let staged = 0;
  const note = ({ path: name }: ManifestFile, position: number) => {
    staged += position - (positions.get(name) ?? 0);
    positions.set(name, position);
    report.advance(staged, size);
  };
  const fetchMissing = async (files: readonly ManifestFile[]) => {
    const [file] = files;
    if (staging.has(file)) note(file, file.size);
    else {
      await fetchFile(file, {
        source,
        id: manifest.id,
        staging,
        findSimilar: local.findSimilar,
        onPosition: (position) => note(file, position),
        clock,
      });
    }
    for (const { path: name } of files) place(staging.pathOf(file), path.join(dir, name));
  };
  await inParallel(contents, parallel, fetchMissing, (error) => {
    // Files of a replaced generation that are under way are kept, if the newer one has them too.
    if (!(error instanceof GoneError && source.canAdvance)) source.close();
  });
  return { fetched: missing.length, linked: manifest.files.length - missing.length };
}

/** How a run ended that a pull has failed. */
export function endingOf(error: Error): Ending {
  const isRefused = error instanceof PullRefusedError;
  const outcome = error instanceof HeldError ? 'held' : isRefused ? 'refused' : 'failed';
  return { outcome, error: error.message };
}

/** Bytes as megabytes with one decimal. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
