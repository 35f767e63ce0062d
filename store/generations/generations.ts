/**
 * The generations of a snapshots folder: which there are, which is current, and the moves between
 * them. Every change of `current` is one rename of a symlink; a reader sees one or the other.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';
import {
  CURRENT,
  GENERATIONS,
  isGenerationId,
  MANIFEST,
  UNFINISHED_PREFIX,
} from '../../format/layout.ts';
import type { Manifest } from '../../format/manifest.ts';
import { makeFolder, makeSnapshotsFolder } from '../files/file-modes.ts';
import { withLock } from '../lock.ts';
import { readManifest, verifyGeneration } from './verify.ts';

/** How many generations a run keeps. */
export const KEPT_GENERATIONS = 5;

export interface KnownGeneration {
  readonly id: string;
  readonly isCurrent: boolean;
  /** When it was published. */
  readonly publishedAt: Date;
  /** Undefined when it cannot be read; `fault` says why. */
  readonly manifest: Manifest | undefined;
  readonly fault: string | undefined;
}

export function generationDir(snapshotsDir: string, id: string): string {
  return path.join(snapshotsDir, GENERATIONS, id);
}

/** The id that `current` points to; undefined before the first generation. */
export function currentId(snapshotsDir: string): string | undefined {
  let target: string;
  try {
    target = readlinkSync(path.join(snapshotsDir, CURRENT));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`read ${CURRENT}: ${(error as Error).message}`, { cause: error });
  }
  const id = path.basename(target);
  if (!isGenerationId(id))
    throw new Error(`"${CURRENT}" points to ${target}, which is no generation.`);
  return id;
}

/** Every generation on disk, the oldest first. */
export function listGenerations(snapshotsDir: string): KnownGeneration[] {
  const current = currentId(snapshotsDir);
  return idsOnDisk(snapshotsDir).map((id) => {
    const dir = generationDir(snapshotsDir, id);
    const known = { id, isCurrent: id === current, publishedAt: statSync(dir).mtime };
    try {
      return { ...known, manifest: readManifest(dir), fault: undefined };
    } catch (error) {
      return { ...known, manifest: undefined, fault: (error as Error).message };
    }
  });
}

/** The ids of the generations on disk by sequence, the oldest first. */
export function idsOnDisk(snapshotsDir: string): string[] {
  return namesIn(path.join(snapshotsDir, GENERATIONS))
    .filter(isGenerationId)
    .sort((a, b) => sequenceOf(a) - sequenceOf(b) || (a < b ? -1 : 1));
}

/** What a folder holds: nothing when it is not there. `existsSync` would take any fault for that. */
function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new Error(`read ${dir}: ${(error as Error).message}`, { cause: error });
  }
}

export function sequenceOf(id: string): number {
  return Number(id.split('-', 1)[0]);
}

/**
 * Makes an older (or newer) generation current, after it was verified.
 * @param prepare called under the lock just before the move; if it throws, nothing moves
 * @throws LockedError, or Error naming the id and what is wrong with it
 */
export async function rollbackTo(
  snapshotsDir: string,
  id: string,
  prepare: () => void = () => {},
): Promise<Manifest> {
  if (!isGenerationId(id) || !existsSync(generationDir(snapshotsDir, id))) {
    const known = idsOnDisk(snapshotsDir).join(', ');
    throw new Error(`There is no generation ${JSON.stringify(id)}. There are: ${known || 'none'}.`);
  }
  return withLock(snapshotsDir, async () => {
    const manifest = await verifyGeneration(generationDir(snapshotsDir, id));
    if (manifest.id !== id)
      throw new Error(`The folder ${id} holds the generation ${manifest.id}.`);
    prepare();
    pointCurrentTo(snapshotsDir, id);
    return manifest;
  });
}

/**
 * Removes all but the last `keep` generations; the current one always stays.
 * @param heldId reads the id of the generation that is held, which stays too
 * @returns the ids that were removed
 */
export async function prune(
  snapshotsDir: string,
  keep: number,
  heldId: () => string | undefined = () => undefined,
): Promise<string[]> {
  return withLock(snapshotsDir, async () => pruneLocked(snapshotsDir, keep, heldId()));
}

/**
 * As {@link prune}, for a caller that holds the lock. Removes what dead runs left, too.
 * @param alsoKept the id of a generation that stays, however old it is
 */
export function pruneLocked(
  snapshotsDir: string,
  keep: number,
  alsoKept: string | undefined,
): string[] {
  removeDebris(snapshotsDir);
  const kept = [currentId(snapshotsDir), alsoKept];
  const ids = idsOnDisk(snapshotsDir);
  const removed = ids.slice(0, Math.max(0, ids.length - keep)).filter((id) => !kept.includes(id));
  for (const id of removed) {
    // Under another name first: no reader finds half a generation under its id.
    const doomed = path.join(snapshotsDir, GENERATIONS, `${UNFINISHED_PREFIX}removed-${id}`);
    renameSync(generationDir(snapshotsDir, id), doomed);
    rmSync(doomed, { recursive: true, force: true });
  }
  return removed;
}

/** For who holds the lock: nobody else can be writing what is found here. */
export function removeDebris(snapshotsDir: string): void {
  const dir = path.join(snapshotsDir, GENERATIONS);
  for (const [folder, prefix] of [
    [dir, UNFINISHED_PREFIX],
    [snapshotsDir, `${UNFINISHED_PREFIX}${CURRENT}`],
  ] as const) {
    for (const name of namesIn(folder)) {
      if (name.startsWith(prefix))
        rmSync(path.join(folder, name), { recursive: true, force: true });
    }
  }
}

/** Makes a verified generation current: one rename, synced. */
export function pointCurrentTo(snapshotsDir: string, id: string): void {
  const next = path.join(snapshotsDir, `${UNFINISHED_PREFIX}${CURRENT}`);
  try {
    rmSync(next, { force: true });
    symlinkSync(path.join(GENERATIONS, id), next);
    renameSync(next, path.join(snapshotsDir, CURRENT));
    syncFolder(snapshotsDir);
  } catch (cause) {
    throw new Error(`point "${CURRENT}" to ${id}: ${(cause as Error).message}`, { cause });
  }
}

/** A rename or a new file outlasts a power cut only once its folder is synced. */
export function syncFolder(dir: string): void {
  const descriptor = openSync(dir, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes the folders of a snapshots folder that are missing. */
export function makeFolders(snapshotsDir: string): void {
  makeSnapshotsFolder(snapshotsDir);
  makeFolder(path.join(snapshotsDir, GENERATIONS));
}

/** Whether a folder holds a whole generation by name: its manifest is the last thing written. */
export function hasManifest(dir: string): boolean {
  return existsSync(path.join(dir, MANIFEST));
}
