/**
 * The program of a worker thread that makes one difference: a file, compressed with another version of
 * it as the dictionary. Both are checked while they are read.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { constants, zstdCompressSync } from 'node:zlib';
import type { ManifestFile } from '../../format/manifest.ts';
import { readChecked } from '../../store/files/checked-files.ts';
import { generationDir, idsOnDisk } from '../../store/generations/generations.ts';
import { readManifest } from '../../store/generations/manifest-file.ts';

export interface DifferenceOrder {
  readonly snapshotsDir: string;
  /** The folder of the generation with the file. */
  readonly dir: string;
  readonly file: ManifestFile;
  /** The SHA-256 of the other version, in hex. */
  readonly dictionary: string;
}

/** In bytes. Making a difference takes about six times as much memory, all of it only for a moment. */
const LARGEST_FILE = 32 * 1024 * 1024;
/** Lower levels do not find what is equal in a dictionary of megabytes, higher ones take very long. */
const LEVEL = 9;
/** As a power of two: how far back equal bytes may be. Both versions together must fit. */
const WINDOW_LOG = 26;

/** RFC 9842, section 5: the bytes before the SHA-256 of the dictionary. */
const MAGIC = Buffer.from('5e2a4d1820000000', 'hex');

/** @returns undefined if no kept generation has the other version, or it does not save much */
function makeDifference({ snapshotsDir, dir, file, dictionary }: DifferenceOrder) {
  if (file.size > LARGEST_FILE) return undefined;
  for (const id of idsOnDisk(snapshotsDir)) {
    const otherDir = generationDir(snapshotsDir, id);
    const other = filesOf(otherDir).find(
      ({ path, sha256 }) => path === file.path && sha256 === dictionary,
    );
    if (other === undefined || other.size > LARGEST_FILE) continue;
    const compressed = zstdCompressSync(readChecked(dir, file), {
      dictionary: readChecked(otherDir, other),
      params: {
        [constants.ZSTD_c_compressionLevel]: LEVEL,
        [constants.ZSTD_c_windowLog]: WINDOW_LOG,
        [constants.ZSTD_c_enableLongDistanceMatching]: 1,
      },
    });
    if (compressed.length > file.size / 4) return undefined;
    return Buffer.concat([MAGIC, Buffer.from(dictionary, 'hex'), compressed]);
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

parentPort?.postMessage(makeDifference(workerData));
