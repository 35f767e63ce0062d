/**
 * The differences between generations, from which the proxy makes lists of changes. Each run that
 * publishes leaves one: from the generation that was current to the one that replaces it. They form a
 * chain, in the order of their numbers, and are kept longer than generations.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import {
  type Change,
  encodeChange,
  encodeHead,
  encodeTail,
  LARGEST_DIFFERENCE,
  LONGEST_LINE,
  parseChange,
} from '../format/difference-file.ts';
import { CHANGES, type Difference, differenceFile, parseDifferenceFile } from '../format/layout.ts';
import { openRegularFile } from '../program/files/bounded-file.ts';
import { makeFolder, openForWriting } from './files/file-modes.ts';
import { syncFolder } from './files/sync-folder.ts';
import { namesIn } from './generations.ts';

/** How long clients may ask what has changed since a generation that was replaced. */
const KEPT_MS = 30 * 24 * 60 * 60_000;
const PIECE_BYTES = 64 * 1024;

/** A difference is damaged, or cannot be read. The message names the file. */
export class DifferenceError extends Error {
  override readonly name = 'DifferenceError';

  constructor(difference: Difference, fault: string, cause?: unknown) {
    super(`${CHANGES}/${differenceFile(difference)} cannot be used: ${fault}.`, { cause });
  }
}

/** All differences, the oldest first. */
export function listDifferences(snapshotsDir: string): Difference[] {
  return namesIn(path.join(snapshotsDir, CHANGES))
    .flatMap((name) => parseDifferenceFile(name) ?? [])
    .sort((a, b) => a.number - b.number);
}

/**
 * @param differences the oldest first
 * @returns those that lead from one generation to another; undefined if none do
 */
export function findChain(
  differences: readonly Difference[],
  from: string,
  to: string,
): Difference[] | undefined {
  const chain: Difference[] = [];
  let wanted = to;
  for (const difference of differences.toReversed()) {
    if (wanted === from) break;
    // A run that was killed before its generation became current leaves a difference beside the chain.
    if (difference.to !== wanted) continue;
    chain.push(difference);
    wanted = difference.from;
  }
  return wanted === from ? chain.reverse() : undefined;
}

/**
 * Writes and syncs the next difference.
 * @param unfinished where the file is until it is complete; readers ignore it
 */
export function writeDifference(
  snapshotsDir: string,
  unfinished: string,
  ids: Pick<Difference, 'from' | 'to'>,
  changes: Iterable<Change>,
): void {
  try {
    writeLines(unfinished, ids, changes);
    const folder = path.join(snapshotsDir, CHANGES);
    makeFolder(folder);
    syncFolder(snapshotsDir);
    const number = (listDifferences(snapshotsDir).at(-1)?.number ?? 0) + 1;
    renameSync(unfinished, path.join(folder, differenceFile({ number, ...ids })));
    syncFolder(folder);
  } catch (cause) {
    throw new Error(`write the difference to ${ids.from}: ${(cause as Error).message}`, { cause });
  }
}

function writeLines(
  file: string,
  ids: Pick<Difference, 'from' | 'to'>,
  changes: Iterable<Change>,
): void {
  const sha256 = createHash('sha256');
  const descriptor = openForWriting(file, 'wx');
  let count = 0;
  let piece = encodeHead(ids);
  const write = () => {
    sha256.update(piece, 'latin1');
    writeFileSync(descriptor, piece, 'latin1');
    piece = '';
  };
  try {
    for (const change of changes) {
      piece += encodeChange(change);
      count++;
      if (piece.length >= PIECE_BYTES) write();
    }
    write();
    writeFileSync(descriptor, encodeTail(count, sha256.digest('hex')));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Reads a difference. The caller must not use the changes unless it has read all of them: only then is
 * the checksum known to be right.
 * @throws DifferenceError
 */
export function* readDifference(snapshotsDir: string, difference: Difference): Generator<Change> {
  const fault = (text: string, cause?: unknown) => new DifferenceError(difference, text, cause);
  const sha256 = createHash('sha256');
  let lines = 0;
  let isComplete = false;
  try {
    for (const line of readLines(path.join(snapshotsDir, CHANGES, differenceFile(difference)))) {
      lines++;
      if (isComplete) throw fault('it goes on after its last line');
      const change = lines === 1 ? undefined : parseChange(line);
      if (change !== undefined) yield change;
      else if (lines > 1) {
        isComplete = line === encodeTail(lines - 2, sha256.digest('hex'));
        if (!isComplete) throw fault(`line ${lines} is damaged, or the checksum is wrong`);
        continue;
      } else if (line !== encodeHead(difference)) {
        throw fault('its first line does not fit its name, or is of another version');
      }
      sha256.update(line, 'latin1');
    }
  } catch (error) {
    if (error instanceof DifferenceError) throw error;
    throw fault((error as Error).message.replace(/\.$/, ''), error);
  }
  if (!isComplete) throw fault('its end is missing');
}

/** The lines of a file, with their line breaks. Memory is bounded, however large the file is. */
function* readLines(file: string): Generator<string> {
  const descriptor = openRegularFile(file);
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  try {
    if (fstatSync(descriptor).size > LARGEST_DIFFERENCE) throw new Error('it is too large');
    let rest = '';
    for (let read = 1; read > 0; ) {
      read = readSync(descriptor, piece);
      rest += piece.toString('latin1', 0, read);
      let start = 0;
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', start)) {
        yield rest.slice(start, end + 1);
        start = end + 1;
      }
      rest = rest.slice(start);
      if (rest.length > LONGEST_LINE) throw new Error('it has a line without an end');
    }
    if (rest !== '') throw new Error('its last line is cut off');
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Removes the differences that are too old. The caller holds the lock.
 * @param now in milliseconds since 1970
 */
export function pruneDifferences(snapshotsDir: string, now = Date.now()): void {
  const folder = path.join(snapshotsDir, CHANGES);
  for (const difference of listDifferences(snapshotsDir)) {
    const file = path.join(folder, differenceFile(difference));
    // An operator may remove files at any time.
    const writtenAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - writtenAt > KEPT_MS) rmSync(file, { force: true });
  }
}

/**
 * Checks every difference, for `snapshot verify`.
 * @returns how many there are
 * @throws Error that names the first damaged one, and the fix
 */
export function verifyDifferences(snapshotsDir: string): number {
  const differences = listDifferences(snapshotsDir);
  for (const difference of differences) {
    try {
      for (const _ of readDifference(snapshotsDir, difference));
    } catch (cause) {
      const fix =
        'Remove it: clients that would need it then read the whole catalogue again, as they have to now.';
      throw new Error(`${(cause as Error).message} ${fix}`, { cause });
    }
  }
  return differences.length;
}
