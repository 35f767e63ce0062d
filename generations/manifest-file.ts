/** Reads the manifest of a generation on disk. */
import { hash } from 'node:crypto';
import path from 'node:path';
import { MANIFEST } from '../format/layout.ts';
import {
  LARGEST_MANIFEST,
  type Manifest,
  type ManifestFile,
  parseManifest,
} from '../format/manifest.ts';
import { readBoundedFileSync, UnfitFileError } from '../program/files/bounded-file.ts';

/** @throws Error if the manifest is missing, damaged or of another version */
export function readManifest(dir: string): Manifest {
  return readManifestFile(dir).manifest;
}

/**
 * As {@link readManifest}.
 * @returns also the size and hash of the manifest itself, which no manifest contains
 */
export function readManifestFile(dir: string): { manifest: Manifest; file: ManifestFile } {
  const bytes = readManifestBytes(dir);
  const file = { path: MANIFEST, size: bytes.length, sha256: hash('sha256', bytes) };
  return { manifest: parseManifest(bytes.toString('utf8')), file };
}

/** The bytes of the manifest, unchecked. */
export function readManifestBytes(dir: string): Buffer {
  const file = path.join(dir, MANIFEST);
  try {
    return readBoundedFileSync(file, LARGEST_MANIFEST);
  } catch (cause) {
    if (cause instanceof UnfitFileError) throw cause;
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** @throws Error if the id in the manifest is not the name of the folder */
export function checkId(manifest: Manifest, folder: string): void {
  if (manifest.id === folder) return;
  throw new Error(`The folder ${folder} contains another generation: ${manifest.id}.`);
}
