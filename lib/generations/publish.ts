/**
 * Publishes a folder that a run has written: writes what differs from the generations before, and the
 * manifest, verifies all files, replaces unchanged files by hard links to the previous generation, renames
 * the folder, and only then points `current` to it. If a step before the last fails, the old generation
 * stays current.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { GENERATION_FOLDERS, GENERATIONS, MANIFEST, sequenceOf } from '../format/layout.ts';
import {
  contentHash,
  encodeManifest,
  findOtherCollation,
  type Manifest,
  type ManifestContent,
  makeManifest,
} from '../format/manifest.ts';
import { isIntact, isSameFile } from './files/checked-files.ts';
import { linkOrCopy, writeNewFile } from './files/file-modes.ts';
import { syncFolder } from './files/replace-file.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  isCurrent,
  pointCurrentTo,
  readManifest,
} from './generations.ts';
import { withoutHistory, writeHistory } from './history.ts';
import { HeldError, whyHeld } from './hold.ts';
import { type Keep, pruneLocked } from './prune.ts';
import { type FileChecks, verifyAndOpen } from './verify.ts';

/** A new generation must have at least this share of the games, covers and files of the current one. */
const SMALLEST_SHARE_KEPT = 0.8;

/** The generation that is current before a run publishes. */
export interface Previous {
  /** Undefined before the first generation. */
  readonly id: string | undefined;
  /** Undefined if there is none, or if it is damaged or of another version. */
  readonly manifest: Manifest | undefined;
}

export function readPrevious(snapshotsDir: string): Previous {
  const id = currentId(snapshotsDir);
  let manifest: Manifest | undefined;
  try {
    if (id !== undefined) manifest = readManifest(generationDir(snapshotsDir, id));
  } catch {
    // It is damaged or of another version: the run publishes without a comparison.
  }
  return { id, manifest };
}

/**
 * Whether the current generation has exactly this content and is intact. If its files are damaged, the
 * same content must be published again.
 */
export function isUnchanged(
  snapshotsDir: string,
  { id, manifest }: Previous,
  content: ManifestContent,
): boolean {
  if (id === undefined || manifest === undefined) return false;
  if (contentHash(withoutHistory(manifest)) !== contentHash(content)) return false;
  // A manifest may also name the collation of another Node, which the new manifest corrects.
  if (findOtherCollation(manifest) !== undefined) return false;
  const dir = generationDir(snapshotsDir, id);
  return manifest.files.every((file) => isIntact(dir, file));
}

/** The reasons, if any, why new content is too small to replace the current generation. */
export function findShrinkage({ manifest }: Previous, content: ManifestContent): string[] {
  if (manifest === undefined) return [];
  return (['games', 'covers', 'cover_files'] as const)
    .filter((name) => content.counts[name] < manifest.counts[name] * SMALLEST_SHARE_KEPT)
    .map((name) => {
      const percent = Math.round((1 - SMALLEST_SHARE_KEPT) * 100);
      return `${name} fall from ${manifest.counts[name]} to ${content.counts[name]}, by more than ${percent} %`;
    });
}

/** The reasons, if any, why new content should not be published as the first one with games. */
export function findMissingCovers({ manifest }: Previous, { counts }: ManifestContent): string[] {
  const isFirst = manifest === undefined || manifest.counts.games === 0;
  if (!isFirst || counts.games === 0 || counts.covers > 0) return [];
  return [`not one of ${counts.games} games has an approved cover`];
}

/**
 * Publishes a folder in which every file is written but the history and the manifest. The caller holds the lock.
 * @param dir a folder in `generations/` under another name than an id
 * @param content without the history
 * @returns the manifest of the generation that is now current
 * @throws HeldError if publishing is held
 */
export async function publish(
  snapshotsDir: string,
  dir: string,
  content: ManifestContent,
  previous: Previous,
  steps: PublishSteps,
): Promise<Manifest> {
  const last = idsOnDisk(snapshotsDir).at(-1);
  const sequence = last === undefined ? 1 : sequenceOf(last) + 1;
  const current = previous.id && generationDir(snapshotsDir, previous.id);
  const { read } = steps.checks ?? {};
  const history = writeHistory(dir, content, sequence, current, { read, warn: steps.warn });
  const whole = { ...content, files: [...content.files, ...history] };
  const manifest = makeManifest(whole, sequence, previous.manifest?.files);
  const target = generationDir(snapshotsDir, manifest.id);
  if (existsSync(target)) throw new Error(`publish: ${target} already exists.`);
  return publishAs(snapshotsDir, dir, encodeManifest(manifest), previous, steps);
}

interface PublishSteps {
  /** Called if clients that know an older generation have to read the catalogue again, or if pruning fails. */
  readonly warn: (text: string) => void;
  /** How the generation is checked before it becomes current. */
  readonly checks: FileChecks;
  /** Which generations stay, with the new one. */
  readonly keep: Keep;
  /** Whether to publish even while publishing is held: for a rollback, which moves the hold. */
  readonly evenIfHeld?: boolean;
}

/**
 * As {@link publish}, for a generation that another installation has made: it keeps its id, and its
 * manifest is the same, byte by byte. A damaged generation with this id is replaced.
 * @param encoded the bytes of the manifest
 */
export async function publishAs(
  snapshotsDir: string,
  dir: string,
  encoded: string | Buffer,
  previous: Previous,
  steps: PublishSteps,
): Promise<Manifest> {
  const { warn, checks, keep, evenIfHeld } = steps;
  try {
    writeNewFile(path.join(dir, MANIFEST), encoded);
  } catch (cause) {
    throw new Error(`write ${MANIFEST}: ${(cause as Error).message}`, { cause });
  }
  const { manifest } = await verifyAndOpen(dir, checks).catch((cause: Error) => {
    throw new Error(`verify the new generation: ${cause.message}`, { cause });
  });
  const target = generationDir(snapshotsDir, manifest.id);
  linkUnchanged(snapshotsDir, dir, manifest, previous);
  for (const folder of [...GENERATION_FOLDERS, '.']) syncFolder(path.join(dir, folder));
  // As late as possible: an operator may have held publishing while this run was under way.
  const held = whyHeld(snapshotsDir);
  if (held !== undefined && !evenIfHeld) throw new HeldError(held);
  // Removed with the other unfinished folders.
  if (existsSync(target)) renameSync(target, `${dir}-replaced`);
  renameSync(dir, target);
  syncFolder(path.join(snapshotsDir, GENERATIONS));
  try {
    pointCurrentTo(snapshotsDir, manifest.id);
  } catch (error) {
    if (!isCurrent(snapshotsDir, manifest.id)) renameSync(target, dir);
    throw error;
  }
  try {
    pruneLocked(snapshotsDir, keep);
  } catch (error) {
    // The generation is current: the run has not failed.
    warn(`Old generations and unfinished files were not all removed: ${(error as Error).message}`);
  }
  return manifest;
}

/**
 * Replaces files by hard links to the same files of the previous generation, if those are intact, to
 * save space on disk.
 */
function linkUnchanged(
  snapshotsDir: string,
  dir: string,
  content: ManifestContent,
  { id, manifest }: Previous,
): void {
  if (id === undefined || manifest === undefined) return;
  const previousDir = generationDir(snapshotsDir, id);
  const before = new Map(manifest.files.map((file) => [file.path, file]));
  for (const { path: name, sha256 } of content.files) {
    const old = before.get(name);
    const [earlier, written] = [path.join(previousDir, name), path.join(dir, name)];
    if (old?.sha256 !== sha256 || isSameFile(earlier, written)) continue;
    if (!isIntact(previousDir, old)) continue;
    rmSync(written);
    linkOrCopy(earlier, written);
  }
}
