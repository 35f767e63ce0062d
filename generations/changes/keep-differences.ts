/**
 * Decides how long differences are kept. The modification time of a file says since when its age
 * counts: since it was published, or since a mirror went back over it.
 *
 * Invariant: between a generation that was current in the last 30 days and the one that is current
 * now, every difference is kept.
 */
import { closeSync, fsyncSync, futimesSync, openSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { CHANGES, differenceFile, idOfDifference } from '../../format/layout.ts';
import { currentId, idsOnDisk, namesIn } from '../generations.ts';
import { findPath, type Step } from './difference-path.ts';
import { readHead } from './read-difference.ts';

/** How long clients may ask what has changed since a generation that was replaced. */
export const KEPT_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;

/** The ids of the later generations of all differences. */
export function idsOfDifferences(snapshotsDir: string): string[] {
  return namesIn(path.join(snapshotsDir, CHANGES)).flatMap((name) => idOfDifference(name) ?? []);
}

/**
 * Removes the differences that are too old. Those between generations on disk stay, because a mirror
 * may go back to any of these. The caller holds the lock.
 * @returns how many were removed
 */
export function pruneDifferences(snapshotsDir: string, now = Date.now()): number {
  const fileOf = (id: string) => path.join(snapshotsDir, CHANGES, differenceFile(id));
  const isOld = (id: string) => {
    // An operator may remove files at any time.
    const stats = statSync(fileOf(id), { throwIfNoEntry: false });
    return stats !== undefined && now - stats.mtimeMs > KEPT_DAYS * DAY_MS;
  };
  const old = idsOfDifferences(snapshotsDir).filter(isOld);
  if (old.length === 0) return 0;
  const needed = new Set<string>();
  for (const id of idsOnDisk(snapshotsDir)) {
    for (const step of pathFromCurrent(snapshotsDir, id)) needed.add(step.id);
  }
  const removed = old.filter((id) => !needed.has(id));
  for (const id of removed) rmSync(fileOf(id), { recursive: true, force: true });
  return removed.length;
}

/**
 * Keeps the differences from the current generation to another one for the full time from now on, for
 * clients that know the one which is replaced. The caller holds the lock.
 */
export function renewDifferences(snapshotsDir: string, to: string, now = Date.now()): void {
  for (const { id } of pathFromCurrent(snapshotsDir, to)) {
    try {
      setTime(path.join(snapshotsDir, CHANGES, differenceFile(id)), now);
    } catch {
      // The file may belong to another user. Then some clients get 410 too early, but going back
      // must not fail for that.
    }
  }
}

function setTime(file: string, milliseconds: number): void {
  const descriptor = openSync(file, 'r+');
  try {
    futimesSync(descriptor, milliseconds / 1000, milliseconds / 1000);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The steps from the current generation to another; none if a difference is missing or damaged. */
function pathFromCurrent(snapshotsDir: string, to: string): Step[] {
  try {
    const from = currentId(snapshotsDir) ?? to;
    return findPath((id) => readHead(snapshotsDir, id)?.from, from, to) ?? [];
  } catch {
    // A damaged difference is of no use to anyone; `snapshot verify` and the proxy report it. If the
    // link `current` is damaged, it must still be possible to replace it.
    return [];
  }
}
