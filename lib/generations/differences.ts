/**
 * The differences between generations, from which the proxy makes lists of changes. Each run that
 * publishes leaves one: from the generation that was current to the one that replaces it. They form a
 * chain, in the order of their numbers, and are kept longer than generations.
 */
import { renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { type Change, LARGEST_DIFFERENCE, parseDifference } from '../format/difference-file.ts';
import { CHANGES, type Difference, differenceFile, parseDifferenceFile } from '../format/layout.ts';
import { readBoundedFileSync } from '../program/files/bounded-file.ts';
import { correctFolder, makeFolder, writeNewFile } from './files/file-modes.ts';
import { syncFolder } from './files/replace-file.ts';
import { namesIn } from './generations.ts';

/** How long clients may ask what has changed since a generation that was replaced. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

/** A difference is damaged, or cannot be read. The message names the file. */
export class DifferenceError extends Error {
  override readonly name = 'DifferenceError';

  constructor(difference: Difference, cause: Error) {
    const fault = cause.message.replace(/\.?$/, '.');
    super(`${CHANGES}/${differenceFile(difference)} cannot be used: ${fault}`, { cause });
  }
}

/** All differences, the oldest first. */
export function listDifferences(snapshotsDir: string): Difference[] {
  return namesIn(path.join(snapshotsDir, CHANGES))
    .flatMap((name) => parseDifferenceFile(name) ?? [])
    .sort((a, b) => a.number - b.number);
}

/**
 * @param differences from {@link listDifferences}
 * @returns those that lead from one generation to another; undefined if none do
 */
export function findChain(
  differences: readonly Difference[],
  from: string,
  to: string,
): Difference[] | undefined {
  const chain: Difference[] = [];
  let reached = to;
  for (const difference of chainTo(differences, to)) {
    if (reached === from) break;
    chain.push(difference);
    reached = difference.from;
  }
  return reached === from ? chain.reverse() : undefined;
}

/** @returns the differences that lead to a generation, the newest first */
export function* chainTo(differences: readonly Difference[], to: string): Generator<Difference> {
  let wanted = to;
  for (const difference of differences.toReversed()) {
    // A run that was killed before its generation became current leaves a difference beside the chain.
    if (difference.to !== wanted) continue;
    yield difference;
    wanted = difference.from;
  }
}

/** When a run has written a difference, as RFC 3339 UTC in seconds. */
export function publishedAt(snapshotsDir: string, difference: Difference): string {
  const { mtime } = statSync(path.join(snapshotsDir, CHANGES, differenceFile(difference)));
  return `${mtime.toISOString().slice(0, 19)}Z`;
}

/**
 * Writes and syncs the next difference.
 * @param unfinished where the file is until it is complete; readers ignore it
 * @param content from `encodeDifference`
 */
export function writeDifference(
  snapshotsDir: string,
  unfinished: string,
  ids: Pick<Difference, 'from' | 'to'>,
  content: string,
): void {
  const folder = path.join(snapshotsDir, CHANGES);
  writeNewFile(unfinished, content);
  makeFolder(folder);
  correctFolder(folder);
  syncFolder(snapshotsDir);
  const number = (listDifferences(snapshotsDir).at(-1)?.number ?? 0) + 1;
  renameSync(unfinished, path.join(folder, differenceFile({ number, ...ids })));
  syncFolder(folder);
}

/** Reads a difference, and checks it before the first change. @throws DifferenceError */
export function* readDifference(snapshotsDir: string, difference: Difference): Generator<Change> {
  try {
    const file = path.join(snapshotsDir, CHANGES, differenceFile(difference));
    const text = readBoundedFileSync(file, LARGEST_DIFFERENCE).toString('latin1');
    yield* parseDifference(text, difference);
  } catch (cause) {
    throw new DifferenceError(difference, cause as Error);
  }
}

/** Removes the differences that are too old. The caller holds the lock. */
export function pruneDifferences(snapshotsDir: string, now = Date.now()): void {
  for (const difference of listDifferences(snapshotsDir)) {
    const file = path.join(snapshotsDir, CHANGES, differenceFile(difference));
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
