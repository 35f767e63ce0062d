/**
 * The generations of a snapshots folder: lists them, opens their manifests and indexes, and reads and
 * sets the current one. One rename replaces the symbolic link `current`, so a reader sees either the old
 * generation or the new one.
 */
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { checkRecordIndex } from '../format/index/checks.ts';
import { openRecordIndex, type RecordIndex } from '../format/index/record-index.ts';
import {
  CURRENT,
  GENERATIONS,
  isGenerationId,
  MANIFEST,
  sequenceOf,
  UNFINISHED_PREFIX,
} from '../format/layout.ts';
import {
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestContent,
  type ManifestFile,
  parseManifest,
} from '../format/manifest.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';
import { readChecked } from './files/checked-files.ts';
import { syncFolder } from './files/replace-file.ts';

export function generationDir(snapshotsDir: string, id: string): string {
  return path.join(snapshotsDir, GENERATIONS, id);
}

/**
 * @param name an id, or a sequence number
 * @returns the id
 * @throws Error that lists the existing generations, if there is none with this name
 */
export function findGeneration(snapshotsDir: string, name: string): string {
  if (isGenerationId(name) && existsSync(generationDir(snapshotsDir, name))) return name;
  const numbered = idsOnDisk(snapshotsDir).filter((id) => sequenceOf(id) === Number(name));
  if (/^\d+$/.test(name) && numbered.length === 1) return numbered[0];
  const known = idsOnDisk(snapshotsDir).join(', ') || 'none';
  throw new Error(`There is no generation ${JSON.stringify(name)}. There are: ${known}.`);
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

/** Whether a generation is the current one; undefined is, if there is none or the link is damaged. */
export function isCurrent(snapshotsDir: string, id: string | undefined): boolean {
  try {
    return currentId(snapshotsDir) === id;
  } catch {
    return id === undefined;
  }
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

/**
 * @param dir the folder of a generation
 * @throws Error if the manifest is missing, damaged or of another version
 */
export function readManifest(dir: string): Manifest {
  return readManifestFile(dir).manifest;
}

/**
 * As {@link readManifest}.
 * @returns also its bytes, and their size and hash, which no manifest contains
 */
export function readManifestFile(dir: string) {
  const name = path.join(dir, MANIFEST);
  let encoded: Buffer;
  try {
    encoded = readBoundedFileSync(name, LARGEST_MANIFEST);
  } catch (cause) {
    throw new Error(`${name} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const file = { path: MANIFEST, size: encoded.length, sha256: hash('sha256', encoded) };
  return { manifest: parseManifest(encoded), encoded, file };
}

/** @throws Error if the id in the manifest is not the name of the folder */
export function checkFolderName(manifest: Manifest, folder: string): void {
  if (manifest.id === folder) return;
  throw new Error(`The folder ${folder} contains another generation: ${manifest.id}.`);
}

/** @returns a function that finds a file in the manifest @throws Error if the manifest lacks it */
export function filesIn({ files }: Pick<ManifestContent, 'files'>): (name: string) => ManifestFile {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return (name) => {
    const file = byPath.get(name);
    if (file === undefined) throw new Error(`${MANIFEST} does not name ${name}.`);
    return file;
  };
}

/**
 * Opens the record index of a generation, and checks that its values are consistent.
 * @param dir the generation's folder
 * @param read reads a file of it and checks it against the manifest
 * @param content of its manifest, if that is not written yet
 * @throws Error if the generation is damaged or of another version
 */
export function openIndexOf(
  dir: string,
  read = readChecked,
  content: ManifestContent = readManifest(dir),
): RecordIndex {
  const fileOf = filesIn(content);
  return openIndex(content, (name) => read(dir, fileOf(name)));
}

/**
 * @param contentOf reads a file of the generation and checks it against the manifest
 * @param hasKnownPaths as for {@link checkRecordIndex}
 * @throws Error that names the file and its first fault
 */
export function openIndex(
  { files }: Pick<ManifestContent, 'files'>,
  contentOf: (name: string) => Uint8Array,
  hasKnownPaths = false,
): RecordIndex {
  const sizes = new Map(files.map(({ path: name, size }) => [name, size]));
  const index = openRecordIndex(contentOf);
  checkRecordIndex(index, (name) => sizes.get(name), hasKnownPaths);
  return index;
}
