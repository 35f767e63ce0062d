/**
 * Pauses publishing for operators: holds the current generation, or rolls back to another one and holds
 * that. Once these functions return, no run publishes until publishing is resumed, not even a
 * run that was under way.
 */
import path from 'node:path';
import type { Hold } from '../format/hold-file.ts';
import type { Manifest } from '../format/manifest.ts';
import { utcNow } from '../program/utc-now.ts';
import { currentId, isCurrent } from './generations.ts';
import { readIntactHold, removeHold, saveHold, whyHeld } from './hold.ts';
import { LockedError, waitForLock } from './lock.ts';
import { type RollbackOptions, rollbackTo } from './rollback.ts';

/**
 * Holds the current generation. Waits for a run that is under way.
 * @param id the generation that must be current; undefined for any generation
 * @param reason undefined to keep the reason of an existing hold
 * @param onWait called once, if there is a run to wait for
 * @returns the hold; its generation is not `id` if the run under way published after all
 * @throws Error if there is no current generation, or if it is not `id`
 */
export async function holdCurrent(
  snapshotsDir: string,
  id: string | undefined,
  reason: string | undefined,
  onWait: () => void,
): Promise<Hold> {
  const current = currentId(snapshotsDir);
  if (current === undefined) {
    throw new Error(`There is no generation in ${snapshotsDir} yet, so there is none to hold.`);
  }
  if (id !== undefined && id !== current) {
    throw new Error(
      `${id} is not the current generation, which is ${current}. To serve and hold ${id}, run "cover-catalogue snapshot rollback ${id}".`,
    );
  }
  // Held before waiting for the lock, so that the run that has the lock finds the hold and publishes
  // nothing.
  moveHold(snapshotsDir, current, reason, 'hold');
  return waitForLock(
    snapshotsDir,
    // Held again, because a run that checked for a hold just before it was written may have published.
    async () => moveHold(snapshotsDir, currentId(snapshotsDir) ?? current, reason, 'hold'),
    onWait,
  );
}

/**
 * As {@link rollbackTo}, and holds the new generation.
 * @param reason undefined to keep the reason of an existing hold
 * @throws as rollbackTo; the hold is then restored, if possible
 */
export async function rollbackAndHold(
  snapshotsDir: string,
  id: string,
  reason: string | undefined,
  options: Omit<RollbackOptions, 'hold'>,
): Promise<Manifest> {
  let undo = () => {};
  const hold = (newId: string) => {
    const before = readIntactHold(snapshotsDir);
    const wasHeld = whyHeld(snapshotsDir) !== undefined;
    moveHold(snapshotsDir, newId, reason, 'rollback');
    undo = () => {
      if (isCurrent(snapshotsDir, newId)) return;
      if (before !== undefined) saveHold(snapshotsDir, before);
      else if (!wasHeld) removeHold(snapshotsDir);
    };
  };
  try {
    // The hold is written before the generation becomes current. If this process dies in between, no
    // run publishes another generation.
    return await rollbackTo(snapshotsDir, id, { ...options, hold });
  } catch (error) {
    try {
      undo();
    } catch {
      // The disk may be full. `addStateToErrors` adds the current state to the error.
    }
    throw error;
  }
}

/**
 * Does the work of an operator's command. If the system refuses a step, the error also says which
 * generation is current and whether publishing is held; if the disk is full, also what to do.
 */
export async function addStateToErrors<T>(
  snapshotsDir: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === undefined || error instanceof LockedError) throw error;
    const message = (error as Error).message.replace(/\.?$/, '.');
    const held = whyHeld(snapshotsDir) ?? 'Publishing is not held.';
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    const next = isFull
      ? ` Free space on the disk of ${path.resolve(snapshotsDir)}, then run this command again.`
      : '';
    throw new Error(`${message} ${describeCurrent(snapshotsDir)} ${held}${next}`, { cause: error });
  }
}

/** The code of the system's error among an error and its causes; undefined if there is none. */
function systemCodeOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined) return code;
  }
  return undefined;
}

function describeCurrent(snapshotsDir: string): string {
  try {
    return `The current generation is ${currentId(snapshotsDir) ?? 'none'}.`;
  } catch (error) {
    return `Which generation is current cannot be read (${(error as Error).message}).`;
  }
}

/** Holds a generation. An existing hold keeps its time and, unless a new one is given, its reason. */
function moveHold(
  snapshotsDir: string,
  id: string,
  reason: string | undefined,
  by: Hold['by'],
): Hold {
  const known = readIntactHold(snapshotsDir);
  const hold: Hold = {
    id,
    since: known?.since ?? utcNow(),
    reason: reason ?? known?.reason ?? null,
    by: known?.id === id ? known.by : by,
  };
  saveHold(snapshotsDir, hold);
  return hold;
}
