/**
 * The program of a process that makes one delta (`format/dcz.ts`). It checks both versions of the file
 * while it reads them. The order comes as JSON in the first argument; the delta goes to stdout, which
 * stays empty if there is none.
 */
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { zstdCompressSync } from 'node:zlib';
import { DELTA_PARAMETERS, dczHead, LARGEST_DCZ_FILE } from '../../format/dcz.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { readChecked } from '../../store/files/checked-files.ts';
import { generationDir, idsOnDisk } from '../../store/generations/generations.ts';
import { readManifest } from '../../store/generations/manifest-file.ts';

export interface DeltaOrder {
  readonly snapshotsDir: string;
  /** The folder of the generation with the file. */
  readonly dir: string;
  readonly file: ManifestFile;
  /** The SHA-256 of the other version, in hex. */
  readonly dictionary: string;
}

/** Other requests come first. */
const PRIORITY = 10;
const STDOUT = 1;

/** @returns undefined if no kept generation has the other version, or it does not save much */
function makeDelta({ snapshotsDir, dir, file, dictionary }: DeltaOrder) {
  if (file.size > LARGEST_DCZ_FILE) return undefined;
  for (const id of idsOnDisk(snapshotsDir)) {
    const otherDir = generationDir(snapshotsDir, id);
    const other = filesOf(otherDir).find(
      ({ path, sha256 }) => path === file.path && sha256 === dictionary,
    );
    if (other === undefined || other.size > LARGEST_DCZ_FILE) continue;
    const compressed = zstdCompressSync(readChecked(dir, file), {
      dictionary: readChecked(otherDir, other),
      params: DELTA_PARAMETERS,
      pledgedSrcSize: file.size,
    });
    if (compressed.length > file.size / 4) return undefined;
    return Buffer.concat([dczHead(dictionary), compressed]);
  }
  return undefined;
}

function filesOf(dir: string): readonly ManifestFile[] {
  try {
    return readManifest(dir).files;
  } catch {
    // Damaged, or pruned in the meantime.
    return [];
  }
}

setPriority(PRIORITY);
const delta = makeDelta(JSON.parse(process.argv[2] ?? '') as DeltaOrder);
if (delta !== undefined) writeFileSync(STDOUT, delta);
