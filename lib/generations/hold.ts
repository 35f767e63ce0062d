/**
 * Holds: an operator pauses publishing, at the current generation or at one that a rollback publishes.
 * Until publishing is resumed, no run publishes, not even one that was under way. If `hold.json` cannot
 * be read, publishing is held: a damaged file must not end a hold.
 */
import { lstatSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type Hold, holdFile } from '../format/hold-file.ts';
import { LARGEST_JSON_FILE } from '../format/json/parse-file.ts';
import { HOLD_FILE } from '../format/layout.ts';
import type { ErrorWithExitCode } from '../program/failure.ts';
import { readBoundedFileSync, tryToRead } from '../program/files/bounded-file.ts';
import { utcNow } from '../program/utc-now.ts';
import { replaceFile, syncFolder } from './files/replace-file.ts';
import { currentId } from './generations.ts';
import { waitForLock } from './lock.ts';

const RESUME = 'cover-catalogue snapshot resume';

/** Nothing was published because an operator has paused publishing. */
export class HeldError extends Error implements ErrorWithExitCode {
  override readonly name = 'HeldError';
  readonly exitCode = 3;

  /** @param why from {@link whyHeld} */
  constructor(why: string) {
    super(`Nothing is published. ${why}`);
  }
}

/**
 * @returns undefined if publishing is not held
 * @throws Error if the file cannot be read; publishing is then held too
 */
export function readHoldFile(snapshotsDir: string): Hold | undefined {
  const file = path.join(snapshotsDir, HOLD_FILE);
  try {
    // Of any kind, even a dangling symbolic link.
    lstatSync(file);
  } catch {
    // It does not exist, or its folder may not be entered; then nothing can be published either.
    return undefined;
  }
  return holdFile.parse(readBoundedFileSync(file, LARGEST_JSON_FILE).toString('utf8'));
}

/** Says why publishing is held and how to resume it; undefined if publishing is not held. */
export function whyHeld(snapshotsDir: string): string | undefined {
  try {
    const hold = readHoldFile(snapshotsDir);
    if (hold === undefined) return undefined;
    const { id, since, reason, by } = hold;
    const cause = by === 'rollback' ? ' by a rollback' : '';
    const given = reason === null ? '' : ` (${reason})`;
    return `Publishing is held at ${id} since ${since}${cause}${given}. Takedowns wait too. To publish again, run "${RESUME}".`;
  } catch (error) {
    const message = (error as Error).message.replace(/\.?$/, '.');
    return `${message} Publishing in ${snapshotsDir} stays paused until you remove ${HOLD_FILE} with "${RESUME}" or replace it with "cover-catalogue snapshot hold".`;
  }
}

/**
 * Holds the current generation. Waits for a run that is under way.
 * @param reason undefined to keep the reason of an existing hold
 * @param onWait called once, if there is a run to wait for
 * @throws Error if there is no current generation
 */
export async function holdCurrent(
  snapshotsDir: string,
  reason: string | undefined,
  onWait: () => void,
): Promise<Hold> {
  const hold = () => {
    const id = currentId(snapshotsDir);
    if (id === undefined) throw new Error(`There is no generation in ${snapshotsDir} to hold.`);
    return saveHold(snapshotsDir, id, reason, 'hold');
  };
  // Before waiting for the lock, so that the run that has the lock finds the hold and publishes nothing;
  // and again, because it may have looked for a hold just before that.
  hold();
  return waitForLock(snapshotsDir, async () => hold(), onWait);
}

/**
 * Holds a generation. An existing hold keeps its time and, unless a new one is given, its reason.
 * @returns the hold
 */
export function saveHold(
  snapshotsDir: string,
  id: string,
  reason: string | undefined,
  by: Hold['by'],
): Hold {
  const known = tryToRead(path.join(snapshotsDir, HOLD_FILE), LARGEST_JSON_FILE, holdFile.parse);
  const hold: Hold = {
    id,
    since: known?.since ?? utcNow(),
    reason: reason ?? known?.reason ?? null,
    by: known?.id === id ? known.by : by,
  };
  replaceFile(path.join(snapshotsDir, HOLD_FILE), holdFile.encode(hold));
  return hold;
}

/** @returns whether there was a hold */
export function removeHold(snapshotsDir: string): boolean {
  const file = path.join(snapshotsDir, HOLD_FILE);
  const isHeld = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  rmSync(file, { recursive: true, force: true });
  if (isHeld) syncFolder(snapshotsDir);
  return isHeld;
}
