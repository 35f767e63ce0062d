/**
 * The staging folder of a pull: files that were fetched, named by their SHA-256, and parts of files. It
 * survives a run that fails or is killed, so the next run continues with what is there, also if the
 * source has published another generation since. The caller holds the lock of the snapshots folder.
 *
 * Invariant: a file without a suffix was complete and had the SHA-256 in its name when it was written.
 */
import { closeSync, fsync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { PULL_FOLDER } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { HASH_ALWAYS, hashOfFile } from '../../generations/files/checked-files.ts';
import { makeFolder, openForWriting } from '../../generations/files/file-modes.ts';

const fsyncAsync = promisify(fsync);

/** A file that continues at its end in the next run. */
const PART = '.part';
/** A file that is made from a delta. Deltas are small, so the next run fetches it again from the start. */
const FROM_DELTA = '.difference';

export interface Staging {
  /** Whether a file is complete and intact. */
  has(file: ManifestFile): boolean;
  /** Where a complete file is. */
  pathOf(file: ManifestFile): string;
  /** How many bytes of a file an earlier transfer has left. */
  partSize(file: ManifestFile): number;
  /** Drops the part of a file. */
  dropPart(file: ManifestFile): void;
  /** Opens a file for writing from a position on, and drops what was there behind it. */
  open(file: ManifestFile, offset: number, isDelta: boolean): StagedFile;
  /** Removes everything that does not belong to these files. */
  keepOnly(files: readonly ManifestFile[]): void;
}

export interface StagedFile {
  write(bytes: Buffer): void;
  /**
   * Closes the file. If all its bytes have been written, checks them and adds the file to the folder.
   * @returns the SHA-256 of the content, in hex
   */
  finish(): Promise<string>;
  /** Closes the file after an error, and keeps what was written for the next transfer. */
  leave(): void;
}

/** Removes the folder, which a run may also have left that was killed just after it published. */
export function removeStaging(snapshotsDir: string): void {
  rmSync(path.join(snapshotsDir, PULL_FOLDER), { recursive: true, force: true });
}

export function openStaging(snapshotsDir: string, files = HASH_ALWAYS): Staging {
  const folder = path.join(snapshotsDir, PULL_FOLDER);
  makeFolder(folder);
  const pathOf = ({ sha256 }: ManifestFile, suffix = '') => path.join(folder, sha256 + suffix);

  function sizeOf(file: string): number {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  }

  return {
    has: (file) => files.isIntact(folder, { ...file, path: file.sha256 }),
    pathOf: (file) => pathOf(file),
    partSize: (file) => sizeOf(pathOf(file, PART)),
    dropPart: (file) => rmSync(pathOf(file, PART), { force: true }),
    open(file, offset, isDelta) {
      const name = pathOf(file, isDelta ? FROM_DELTA : PART);
      const descriptor = openForWriting(name, offset > 0 ? 'a' : 'w');
      let position = offset;
      return {
        write(bytes) {
          for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
          position += bytes.length;
        },
        async finish() {
          try {
            await fsyncAsync(descriptor);
          } finally {
            closeSync(descriptor);
          }
          if (files.isIntact(folder, { ...file, path: path.basename(name) })) {
            // The folder is not synced: a file whose name a power cut has lost is fetched again.
            renameSync(name, pathOf(file));
            return file.sha256;
          }
          const sha256 = hashOfFile(name, position);
          rmSync(name, { force: true });
          return sha256;
        },
        leave: () => closeSync(descriptor),
      };
    },
    keepOnly(files) {
      const wanted = new Set(files.map(({ sha256 }) => sha256));
      for (const name of readdirSync(folder)) {
        const isWanted = wanted.has(name) || wanted.has(name.replace(PART, ''));
        if (!isWanted) rmSync(path.join(folder, name), { recursive: true, force: true });
      }
    },
  };
}
