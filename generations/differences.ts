/**
 * The differences between generations, from which the proxy makes lists of changes. Each run that
 * publishes leaves one: from the generation that was current to the one that replaces it. They form a
 * chain, in the order of their numbers, and are kept longer than generations.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
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
import { correctFolder, makeFolder, openForWriting } from './files/file-modes.ts';
import { syncFolder } from './files/replace-file.ts';
import { namesIn } from './generations.ts';

/** How long clients may ask what has changed since a generation that was replaced. */
const KEPT_MS = 30 * 24 * 60 * 60_000;
const PIECE_BYTES = 64 * 1024;

/** A difference is damaged, or cannot be read. The message names the file. */
export class DifferenceError extends Error {
  override readonly name = 'DifferenceError';

  constructor(difference: Difference, cause: Error) {
    const fault = cause.message.replace(/\.$/, '');
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
  const folder = path.join(snapshotsDir, CHANGES);
  try {
    writeChanges(unfinished, encodeHead(ids), changes);
    makeFolder(folder);
    correctFolder(folder);
    syncFolder(snapshotsDir);
    const number = (listDifferences(snapshotsDir).at(-1)?.number ?? 0) + 1;
    renameSync(unfinished, path.join(folder, differenceFile({ number, ...ids })));
    syncFolder(folder);
  } catch (cause) {
    throw new Error(`write the difference to ${ids.from}: ${(cause as Error).message}`, { cause });
  }
}

function writeChanges(file: string, head: string, changes: Iterable<Change>): void {
  const descriptor = openForWriting(file, 'wx');
  const sha256 = createHash('sha256');
  let count = 0;
  let piece = head;
  try {
    for (const change of changes) {
      if (piece.length >= PIECE_BYTES) {
        sha256.update(piece);
        writeFileSync(descriptor, piece);
        piece = '';
      }
      piece += encodeChange(change);
      count++;
    }
    const tail = encodeTail(count, sha256.update(piece).digest('hex'));
    writeFileSync(descriptor, piece + tail, { flush: true });
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
  const head = encodeHead(difference);
  const sha256 = createHash('sha256').update(head);
  let count = 0;
  try {
    const lines = readLines(path.join(snapshotsDir, CHANGES, differenceFile(difference)));
    if (lines.next().value !== head) {
      throw new Error('its first line does not fit its name, or is of another version');
    }
    for (const line of lines) {
      const change = parseChange(line);
      if (change === undefined) {
        if (line === encodeTail(count, sha256.digest('hex')) && lines.next().done) return;
        throw new Error(`line ${count + 2} is damaged, or the checksum is wrong`);
      }
      sha256.update(line);
      count++;
      yield change;
    }
    throw new Error('its end is missing');
  } catch (cause) {
    throw new DifferenceError(difference, cause as Error);
  }
}

/** The lines of a file, with their line breaks. Memory is bounded, however large the file is. */
function* readLines(file: string): Generator<string, undefined> {
  const descriptor = openRegularFile(file);
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  try {
    if (fstatSync(descriptor).size > LARGEST_DIFFERENCE) throw new Error('it is too large');
    let text = '';
    for (let read = readSync(descriptor, piece); read > 0; read = readSync(descriptor, piece)) {
      const lines = (text + piece.toString('latin1', 0, read)).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) yield `${line}\n`;
      if (text.length > LONGEST_LINE) throw new Error('it has a line without an end');
    }
    if (text !== '') throw new Error('its last line is cut off');
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

/** @returns how many differences there are @throws DifferenceError for the first damaged one */
export function verifyDifferences(snapshotsDir: string): number {
  const differences = listDifferences(snapshotsDir);
  for (const difference of differences) for (const _ of readDifference(snapshotsDir, difference));
  return differences.length;
}
