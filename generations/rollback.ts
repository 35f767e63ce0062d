/**
 * Publishes the content of an earlier generation again, for an operator. It gets the next sequence number,
 * because replicas and mirrors refuse to go back to an older one.
 *
 * Invariant: a cover that is not public now becomes public again only if the operator says so.
 */
import path from 'node:path';
import type { RecordIndex } from '../format/index/record-index.ts';
import type { Manifest } from '../format/manifest.ts';
import type { ErrorWithExitCode } from '../program/failure.ts';
import { coversOnlyIn } from './compare.ts';
import { place } from './files/file-modes.ts';
import { HASH_ALWAYS } from './files/known-files.ts';
import { currentId, generationDir, requireGeneration } from './generations.ts';
import { withLock } from './lock.ts';
import { checkId } from './manifest-file.ts';
import { openIndexOf } from './open-index.ts';
import { type Previous, publish, readPrevious } from './publish.ts';
import { copyAgreement } from './run-status.ts';
import { beginGeneration } from './unfinished-generation.ts';
import { checkOneByOne, verifyAndOpen } from './verify.ts';

/** How many covers that are not public now are listed. */
const MOST_LISTED = 20;

/** The generation has covers that are not public now, and the operator has not agreed to that. */
export class RollbackRefusedError extends Error implements ErrorWithExitCode {
  override readonly name = 'RollbackRefusedError';
  readonly exitCode = 3;
}

export interface RollbackOptions {
  /** Whether covers may become public again that are not public now. */
  readonly withTakenDown: boolean;
  readonly warn: (text: string) => void;
  /**
   * Holds publishing at the new generation; called just before that becomes current. If it throws, nothing
   * changes. Undefined for a rollback without a hold, which is refused while publishing is held.
   */
  readonly hold?: ((id: string) => void) | undefined;
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
    const { manifest, index } = await verifyAndOpen(source, checkOneByOne);
    checkId(manifest, id);
    const { previous, takenDown } = compareWithCurrent(snapshotsDir, id, index);
    if (takenDown !== undefined && !withTakenDown) {
      throw new RollbackRefusedError(
        `${takenDown} Nothing has changed. To go on, add --with-taken-down: it makes them public again.`,
      );
    }
    if (takenDown !== undefined) warn(takenDown);
    const { dir, clear } = beginGeneration(snapshotsDir, warn);
    try {
      for (const { path: name } of manifest.files) {
        place(path.join(source, name), path.join(dir, name));
      }
      return await publish(snapshotsDir, dir, manifest, previous, {
        warn,
        known: HASH_ALWAYS,
        evenIfHeld: hold !== undefined,
        beforeCurrent(newId) {
          copyAgreement(snapshotsDir, id, newId);
          hold?.(newId);
        },
      });
    } finally {
      clear();
    }
  });
}

/** @returns also a sentence about the covers that are not public now; undefined if all are public */
function compareWithCurrent(
  snapshotsDir: string,
  id: string,
  index: RecordIndex,
): { previous: Previous; takenDown: string | undefined } {
  // An operator must be able to replace a current generation that is damaged, even the link to it.
  let previous: Previous = { id: undefined, manifest: undefined };
  try {
    const current = currentId(snapshotsDir);
    if (current === undefined) throw new Error('there is none');
    previous = readPrevious(snapshotsDir);
    const before = openIndexOf(generationDir(snapshotsDir, current));
    return { previous, takenDown: describe(id, [...coversOnlyIn(index, before)]) };
  } catch (error) {
    const fault = (error as Error).message.replace(/\.$/, '');
    const takenDown = `Which covers of ${id} are not public now is not known, because the current generation cannot be read: ${fault}.`;
    return { previous, takenDown };
  }
}

/** @param covers the ids of the covers of the generation that are not public now */
function describe(id: string, covers: readonly string[]): string | undefined {
  if (covers.length === 0) return undefined;
  const listed = covers
    .slice(0, MOST_LISTED)
    .map((cover) => `/covers/${cover}`)
    .join(', ');
  const more = covers.length > MOST_LISTED ? ` and ${covers.length - MOST_LISTED} more` : '';
  const what = covers.length === 1 ? '1 cover that is' : `${covers.length} covers that are`;
  return `${id} has ${what} not public now: ${listed}${more}.`;
}
