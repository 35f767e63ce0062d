/** Reads the manifest of a generation on disk. */
import path from 'node:path';
import { MANIFEST } from '../../format/layout.ts';
import { LARGEST_MANIFEST, type Manifest, parseManifest } from '../../format/manifest.ts';
import { readBoundedFileSync, UnfitFileError } from '../../program/files/bounded-file.ts';

/** @throws Error if the manifest is missing, damaged or of another version */
export function readManifest(dir: string): Manifest {
  const file = path.join(dir, MANIFEST);
  let text: string;
  try {
    text = readBoundedFileSync(file, LARGEST_MANIFEST).toString('utf8');
  } catch (cause) {
    if (cause instanceof UnfitFileError) throw cause;
    throw new Error(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return parseManifest(text);
}

/** @throws Error if the id in the manifest is not the name of the folder */
export function checkId(manifest: Manifest, folder: string): void {
  if (manifest.id === folder) return;
  throw new Error(`The folder ${folder} contains another generation: ${manifest.id}.`);
}
