/**
 * The generations of a snapshots folder: lists them, and reads and sets the current one. One rename
 * replaces the symbolic link `current`, so a reader sees either the old generation or the new one.
 */
import {
  existsSync,
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
  sequenceOf,
  UNFINISHED_PREFIX,
} from '../format/layout.ts';
import type { Manifest } from '../format/manifest.ts';
import { makeFolder, makeSnapshotsFolder } from './files/file-modes.ts';
import { syncFolder } from './files/sync-folder.ts';
import { readManifest } from './manifest-file.ts';

export interface KnownGeneration {
  readonly id: string;
  readonly isCurrent: boolean;
  /** When it was published. */
  readonly publishedAt: Date;
  /** Undefined if it cannot be read; `fault` then says why. */
  readonly manifest: Manifest | undefined;
  /** Undefined if the manifest can be read. */
  readonly fault: string | undefined;
}

export function generationDir(snapshotsDir: string, id: string): string {
  return path.join(snapshotsDir, GENERATIONS, id);
}

/** @throws Error that lists the existing generations, if there is no generation with this id */
export function requireGeneration(snapshotsDir: string, id: string): void {
  if (isGenerationId(id) && existsSync(generationDir(snapshotsDir, id))) return;
  const known = idsOnDisk(snapshotsDir).join(', ') || 'none';
  throw new Error(`There is no generation ${JSON.stringify(id)}. There are: ${known}.`);
}

/** The id of the generation that `current` points to; undefined before the first generation. */
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
    throw new Error(`"${CURRENT}" points to ${target}, which is not a generation.`);
  return id;
}

/** Whether a generation is certainly the current one: not if the link `current` is damaged. */
export function isCurrent(snapshotsDir: string, id: string): boolean {
  try {
    return currentId(snapshotsDir) === id;
  } catch {
    return false;
  }
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

/** The ids of all generations on disk, sorted by sequence number, the oldest first. */
export function idsOnDisk(snapshotsDir: string): string[] {
  return namesIn(path.join(snapshotsDir, GENERATIONS))
    .filter(isGenerationId)
    .sort((a, b) => sequenceOf(a) - sequenceOf(b) || (a < b ? -1 : 1));
}

/**
 * The names in a folder; none if the folder does not exist. Any other fault is thrown: `existsSync`
 * would hide it.
 */
export function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new Error(`read ${dir}: ${(error as Error).message}`, { cause: error });
  }
}

/** Makes a verified generation current, by one rename that is synced to the disk. */
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

/** Creates the snapshots folder and its folder of generations, unless they exist. */
export function makeFolders(snapshotsDir: string): void {
  makeSnapshotsFolder(snapshotsDir);
  makeFolder(path.join(snapshotsDir, GENERATIONS));
}
