/**
 * Publishes the content of an earlier generation again, for an operator. It gets the next sequence number,
 * because replicas refuse to go back to an older one.
 *
 * Invariant: a cover that is not public now becomes public again only if the operator says so.
 */
import path from 'node:path';
import type { RecordIndex } from '../format/index/record-index.ts';
import type { Manifest } from '../format/manifest.ts';
import type { ErrorWithExitCode } from '../program/failure.ts';
import { coversOnlyIn } from './compare.ts';
import { isIntact } from './files/checked-files.ts';
import { place } from './files/file-modes.ts';
import {
  checkId,
  generationDir,
  isCurrent,
  openIndexOf,
  requireGeneration,
} from './generations.ts';
import { removeHold, saveHold, whyHeld } from './hold.ts';
import { withLock } from './lock.ts';
import { beginGeneration } from './prune.ts';
import { type Previous, publish, readPrevious } from './publish.ts';
import { bytesOnly, verifyAndOpen } from './verify.ts';

/** The generation has covers that are not public now, and the operator has not agreed to that. */
class RollbackRefusedError extends Error implements ErrorWithExitCode {
  override readonly name = 'RollbackRefusedError';
  readonly exitCode = 3;
}

interface RollbackOptions {
  /** Whether covers may become public again that are not public now. */
  readonly withTakenDown: boolean;
  readonly warn: (text: string) => void;
  /**
   * Holds publishing at the new generation, with a reason; undefined for a rollback without a hold, which is
   * refused while publishing is held.
   */
  readonly hold?: { readonly reason: string | undefined } | undefined;
}

/**
 * Verifies an earlier generation, and publishes its content as a new one.
 * @returns the manifest of the new generation
 * @throws LockedError, HeldError, RollbackRefusedError, or Error that says why it cannot be published
 */
export async function rollbackTo(
  snapshotsDir: string,
  id: string,
  { withTakenDown, warn, hold }: RollbackOptions,
): Promise<Manifest> {
  requireGeneration(snapshotsDir, id);
  return withLock(snapshotsDir, async () => {
    const source = generationDir(snapshotsDir, id);
    const { manifest, index } = await verifyAndOpen(source);
    checkId(manifest, id);
    const { previous, takenDown } = compareWithCurrent(snapshotsDir, id, index);
    if (takenDown !== undefined && !withTakenDown) {
      throw new RollbackRefusedError(
        `${takenDown} Nothing has changed. To go on, add --with-taken-down: it makes them public again.`,
      );
    }
    if (takenDown !== undefined) warn(takenDown);
    const { dir, clear } = beginGeneration(snapshotsDir);
    try {
      for (const { path: name } of manifest.files) {
        place(path.join(source, name), path.join(dir, name));
      }
      const steps = { warn, checks: bytesOnly(isIntact), evenIfHeld: hold !== undefined };
      const publishAll = () => publish(snapshotsDir, dir, manifest, previous, steps);
      return await (hold === undefined
        ? publishAll()
        : publishHeld(snapshotsDir, previous.id, hold.reason, publishAll));
    } finally {
      clear();
    }
  });
}

/**
 * Holds publishing before the generation becomes current: if this process is killed in between, no run
 * publishes another one. If nothing becomes current, publishing is held only if it was before.
 */
async function publishHeld(
  snapshotsDir: string,
  previousId: string | undefined,
  reason: string | undefined,
  work: () => Promise<Manifest>,
): Promise<Manifest> {
  const wasHeld = whyHeld(snapshotsDir) !== undefined;
  const hold = (id: string) => saveHold(snapshotsDir, id, reason, 'rollback');
  if (previousId !== undefined) hold(previousId);
  try {
    const manifest = await work();
    hold(manifest.id);
    return manifest;
  } catch (error) {
    if (!wasHeld && isCurrent(snapshotsDir, previousId)) removeHold(snapshotsDir);
    throw error;
  }
}

/** @returns also a sentence about the covers that are not public now; undefined if all are public */
function compareWithCurrent(snapshotsDir: string, id: string, index: RecordIndex) {
  // An operator must be able to replace a current generation that is damaged, even the link to it.
  let previous: Previous = { id: undefined, manifest: undefined };
  try {
    previous = readPrevious(snapshotsDir);
    if (previous.id === undefined) throw new Error('there is none');
    const current = openIndexOf(generationDir(snapshotsDir, previous.id));
    const [first, ...more] = coversOnlyIn(index, current);
    if (first === undefined) return { previous, takenDown: undefined };
    const further = more.length > 0 ? ` and ${more.length} more` : '';
    const takenDown = `${id} has covers that are not public now: /covers/${first}${further}. "cover-catalogue snapshot diff ${previous.id} ${id}" lists them.`;
    return { previous, takenDown };
  } catch (error) {
    const fault = (error as Error).message.replace(/\.$/, '');
    const takenDown = `Which covers of ${id} are not public now is not known, because the current generation cannot be read: ${fault}.`;
    return { previous, takenDown };
  }
}
