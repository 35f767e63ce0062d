/**
 * Writes the difference between a new generation and its parent, the generation that it replaces.
 * Without it, clients that know an older generation cannot ask what has changed and have to read the
 * catalogue again. So a parent that cannot be compared does not stop publishing, but a full disk does.
 */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  type Change,
  type DifferenceHead,
  encodeChange,
  encodeHead,
  encodeTail,
  LARGEST_DIFFERENCE,
} from '../../format/difference-file.ts';
import type { RecordIndex } from '../../format/index/record-index.ts';
import { CHANGES, differenceFile, sequenceOf } from '../../format/layout.ts';
import { utcNow } from '../../program/utc-now.ts';
import { makeFolder, openForWriting } from '../files/file-modes.ts';
import type { FileChecks } from '../files/known-files.ts';
import { syncFolder } from '../files/sync-folder.ts';
import { generationDir } from '../generations.ts';
import { openIndexOf } from '../open-index.ts';
import { compareGenerations } from './compare-generations.ts';
import { renewDifferences } from './keep-differences.ts';

const PIECE_CHARACTERS = 64 * 1024;

/** A generation that is written, but not yet published. */
export interface NewGeneration {
  readonly id: string;
  readonly dir: string;
  readonly index: RecordIndex;
  /** The generation that is current until then; undefined for the first one. */
  readonly parent: string | undefined;
  /** Whether the parent has exactly the same content, so that there is nothing to compare. */
  readonly isSame: boolean;
  /** Reads files of the parent; by default hashes all of them. */
  readonly readFile?: FileChecks['read'] | undefined;
}

/**
 * Writes and syncs the difference under a name that readers ignore, next to the new generation.
 * @param warn called if the parent cannot be compared; there is no difference then
 * @returns a function that gives the difference its name, once the generation has its own
 */
export function prepareDifference(
  snapshotsDir: string,
  { id, dir, index, parent, isSame, readFile }: NewGeneration,
  warn: (text: string) => void,
): () => void {
  const file = path.join(snapshotsDir, CHANGES, differenceFile(id));
  if (parent === undefined) return () => {};
  // A mirror goes back to an earlier generation if its origin was installed again. A difference that is
  // still there for it is right, because the ids in it name the content of generations.
  if (sequenceOf(parent) >= sequenceOf(id)) return () => renewDifferences(snapshotsDir, id);
  const withoutDifference = (why: string) => {
    warn(
      `The changes since ${parent} are not known to clients, which have to read the catalogue again: ${why}`,
    );
    return () => {};
  };
  let changes: Iterable<Change> = [];
  try {
    if (!isSame) {
      const before = openIndexOf(generationDir(snapshotsDir, parent), readFile);
      changes = compareGenerations(before, index);
    }
  } catch (error) {
    return withoutDifference((error as Error).message);
  }
  const written = `${dir}.difference`;
  const head = { from: parent, to: id, published_at: utcNow() };
  if (!writeDifference(written, head, changes)) {
    rmSync(written);
    return withoutDifference(`they take more than ${LARGEST_DIFFERENCE} bytes.`);
  }
  return () => {
    try {
      makeFolder(path.dirname(file));
      syncFolder(snapshotsDir);
      renameSync(written, file);
      syncFolder(path.dirname(file));
    } catch (cause) {
      throw new Error(`write ${CHANGES}/${differenceFile(id)}: ${(cause as Error).message}`, {
        cause,
      });
    }
  };
}

/**
 * Writes and syncs a difference to a file that does not exist.
 * @param changes in order, from `compareGenerations`
 * @returns false if there are more changes than a reader accepts; the file is then incomplete
 */
export function writeDifference(
  file: string,
  head: DifferenceHead,
  changes: Iterable<Change>,
): boolean {
  try {
    const descriptor = openForWriting(file, 'wx');
    try {
      const isComplete = writeLines(descriptor, head, changes);
      fsyncSync(descriptor);
      return isComplete;
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw new Error(`write the difference to ${head.from}: ${(cause as Error).message}`, { cause });
  }
}

/** @returns false, without having written all lines, if they take more than {@link LARGEST_DIFFERENCE} */
function writeLines(descriptor: number, head: DifferenceHead, changes: Iterable<Change>): boolean {
  const sha256 = createHash('sha256');
  let bytes = 0;
  let count = 0;
  let piece = encodeHead(head);
  const write = (text: string) => {
    bytes += text.length;
    writeFileSync(descriptor, text, 'latin1');
  };
  for (const change of changes) {
    piece += encodeChange(change);
    count++;
    if (piece.length < PIECE_CHARACTERS) continue;
    sha256.update(piece, 'latin1');
    write(piece);
    piece = '';
    if (bytes > LARGEST_DIFFERENCE) return false;
  }
  sha256.update(piece, 'latin1');
  write(piece + encodeTail(count, sha256.digest('hex')));
  return bytes <= LARGEST_DIFFERENCE;
}
