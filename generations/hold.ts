/**
 * Reads, writes and removes `hold.json` for the generator's programs. If the file cannot be read,
 * publishing is held: a damaged file must not end a hold.
 */

import { rmSync } from 'node:fs';
import path from 'node:path';
import { encodeHold, type Hold } from '../format/hold-file.ts';
import { HOLD_FILE } from '../format/layout.ts';
import type { ErrorWithExitCode } from '../program/failure.ts';
import { replaceFile } from './files/replace-file.ts';
import { syncFolder } from './files/sync-folder.ts';
import { readHoldFile } from './read-hold.ts';

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
 * @throws Error that says what is wrong with the file and what to do; publishing is then held too
 */
export function readHold(snapshotsDir: string): Hold | undefined {
  try {
    return readHoldFile(snapshotsDir);
  } catch (cause) {
    const message = (cause as Error).message.replace(/\.?$/, '.');
    throw new Error(
      `${message} Publishing in ${snapshotsDir} stays paused until you remove ${HOLD_FILE} with "${RESUME}" or replace it with "cover-catalogue snapshot hold".`,
      { cause },
    );
  }
}

/** As {@link readHold}, but returns undefined if the file cannot be read: for callers that replace it. */
export function readIntactHold(snapshotsDir: string): Hold | undefined {
  try {
    return readHold(snapshotsDir);
  } catch {
    return undefined;
  }
}

export function saveHold(snapshotsDir: string, hold: Hold): void {
  replaceFile(path.join(snapshotsDir, HOLD_FILE), encodeHold(hold));
}

/** @returns whether there was a hold */
export function removeHold(snapshotsDir: string): boolean {
  try {
    rmSync(path.join(snapshotsDir, HOLD_FILE), { recursive: true });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw new Error(`remove ${HOLD_FILE}: ${(cause as Error).message}`, { cause });
  }
  syncFolder(snapshotsDir);
  return true;
}

/** Says why publishing is held and how to resume it; undefined if publishing is not held. */
export function whyHeld(snapshotsDir: string): string | undefined {
  let hold: Hold | undefined;
  try {
    hold = readHold(snapshotsDir);
  } catch (error) {
    return (error as Error).message;
  }
  if (hold === undefined) return undefined;
  const { id, since, reason, by } = hold;
  const cause = by === 'rollback' ? ' by a rollback' : '';
  const given = reason === null ? '' : ` (${reason})`;
  return `Publishing is held at ${id} since ${since}${cause}${given}. Takedowns wait too. To publish again, run "${RESUME}".`;
}
