/**
 * The files of the generations that a snapshots folder keeps: a pull links those that are equal to a
 * file of the new generation, and fetches only deltas of files for which there is a similar one.
 */
import path from 'node:path';
import { LARGEST_DELTA_FILE } from '../../format/delta.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { HASH_ALWAYS } from '../../generations/files/checked-files.ts';
import { generationDir, listGenerations } from '../../generations/generations.ts';
import type { SimilarFile } from './source.ts';

export interface LocalFiles {
  /** The path of an intact file with the same content; undefined if there is none. */
  findEqual(file: ManifestFile): string | undefined;
  /** The newest intact file with the same path; undefined if there is none that is small enough. */
  findSimilar(file: ManifestFile): SimilarFile | undefined;
}

export function findLocalFiles(snapshotsDir: string, files = HASH_ALWAYS): LocalFiles {
  const bySha256 = new Map<string, { readonly dir: string; readonly file: ManifestFile }>();
  const byPath = new Map<string, { readonly dir: string; readonly file: ManifestFile }>();
  // The newest generation comes last, so its files replace those of older ones.
  for (const { id, manifest } of listGenerations(snapshotsDir)) {
    const dir = generationDir(snapshotsDir, id);
    for (const file of manifest?.files ?? []) {
      bySha256.set(file.sha256, { dir, file });
      byPath.set(file.path, { dir, file });
    }
  }
  return {
    findEqual({ sha256, size }) {
      const known = bySha256.get(sha256);
      if (known === undefined || known.file.size !== size) return undefined;
      if (!files.isIntact(known.dir, known.file)) return undefined;
      return path.join(known.dir, known.file.path);
    },
    findSimilar({ path: name, size }) {
      const known = byPath.get(name);
      if (known === undefined || known.file.size === 0) return undefined;
      if (Math.max(known.file.size, size) > LARGEST_DELTA_FILE) return undefined;
      try {
        return { sha256: known.file.sha256, content: files.read(known.dir, known.file) };
      } catch {
        return undefined;
      }
    },
  };
}
