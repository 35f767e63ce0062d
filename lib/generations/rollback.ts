/**
 * Publishes the content of an earlier generation again, for an operator. It gets the next sequence number,
 * because replicas refuse to go back to an older one.
 *
 * Invariant: what is not public now, or was changed since, becomes public again only if the operator says so.
 */
import path from 'node:path';
import { findPlatform } from '../format/index/record-index.ts';
import { MATCH_INDEX } from '../format/layout.ts';
import type { Manifest } from '../format/manifest.ts';
import type { ErrorWithExitCode } from '../program/failure.ts';
import { getOrAdd } from '../program/get-or-add.ts';
import { counted } from '../program/printable.ts';
import { type Compared, compareGenerations, openCompared } from './compare.ts';
import { isIntact } from './files/checked-files.ts';
import { linkOrCopy } from './files/file-modes.ts';
import { checkFolderName, findGeneration, generationDir, isCurrent } from './generations.ts';
import { withoutHistory } from './history.ts';
import { removeHold, saveHold, whyHeld } from './hold.ts';
import { withRunLock } from './lock.ts';
import { beginGeneration, type Keep } from './prune.ts';
import { type Previous, publish, readPrevious } from './publish.ts';
import { type CheckFind, everything, verifyAndOpen, withoutRecords } from './verify.ts';

/** The generation has covers or games that are not public now, and the operator has not agreed to that. */
class RollbackRefusedError extends Error implements ErrorWithExitCode {
  override readonly name = 'RollbackRefusedError';
  readonly exitCode = 3;
}

interface RollbackOptions {
  /** Whether covers and games may become public again that are not public now, or were changed since. */
  readonly withTakenDown: boolean;
  readonly warn: (text: string) => void;
  /**
   * Holds publishing at the new generation, with a reason; undefined for a rollback without a hold, which is
   * refused while publishing is held.
   */
  readonly hold?: { readonly reason: string | undefined } | undefined;
  readonly checkFind: CheckFind;
  readonly keep: Keep;
}

/**
 * Verifies an earlier generation, and publishes its content as a new one.
 * @returns the manifest of the new generation
 * @throws LockedError, HeldError, RollbackRefusedError, or Error that says why it cannot be published
 */
export async function rollbackTo(
  snapshotsDir: string,
  id: string,
  { withTakenDown, warn, hold, checkFind, keep }: RollbackOptions,
): Promise<Manifest> {
  findGeneration(snapshotsDir, id);
  return withRunLock(snapshotsDir, async () => {
    const source = generationDir(snapshotsDir, id);
    const { manifest } = await verifyAndOpen(source, everything(checkFind));
    checkFolderName(manifest, id);
    const content = withoutHistory(manifest);
    const { previous, takenDown } = compareWithCurrent(snapshotsDir, content, openCompared(source));
    if (takenDown !== undefined && !withTakenDown) {
      throw new RollbackRefusedError(
        `${takenDown} Nothing has changed. To publish them as they were, add --with-taken-down.`,
      );
    }
    if (takenDown !== undefined) warn(takenDown);
    const { dir, clear } = beginGeneration(snapshotsDir);
    try {
      for (const { path: name } of content.files) {
        linkOrCopy(path.join(source, name), path.join(dir, name));
      }
      const checks = withoutRecords(isIntact);
      const steps = { warn, checks, keep, evenIfHeld: hold !== undefined };
      const publishAll = () => publish(snapshotsDir, dir, content, previous, steps);
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

/** @returns also sentences about what would become public again; undefined if nothing would */
function compareWithCurrent(snapshotsDir: string, older: Manifest, records: Compared) {
  const { id } = older;
  // An operator must be able to replace a current generation that is damaged, even the link to it.
  let previous: Previous = { id: undefined, manifest: undefined };
  try {
    previous = readPrevious(snapshotsDir);
    if (previous.id === undefined) throw new Error('there is none');
    const current = openCompared(generationDir(snapshotsDir, previous.id));
    const returning = describeReturns(current, records) ?? describeIds(previous.manifest, older);
    if (returning === undefined) return { previous, takenDown: undefined };
    const takenDown = `With ${id}, ${returning}. "cover-catalogue snapshot diff --all ${previous.id} ${id}" lists all, except what only repeats a new title of a game or name of a platform.`;
    return { previous, takenDown };
  } catch (error) {
    const fault = (error as Error).message.replace(/\.$/, '');
    const takenDown = `What of ${id} is not public now is not known, because the current generation cannot be read: ${fault}.`;
    return { previous, takenDown };
  }
}

/** How many paths are named for each kind. */
const MOST_NAMED = 5;

/** How many records of the older generation are not public now as they were, and the first of them. */
function describeReturns(current: Compared, older: Compared): string | undefined {
  const counts = new Map<string, { count: number; named: string[] }>();
  for (const { kind, id, path: name, before, after } of compareGenerations(current, older)) {
    if (after === undefined) continue;
    // A platform's record also has counts, which any new game changes.
    const hasChanged =
      kind !== 'platform' ||
      before === undefined ||
      findPlatform(current.index, id)?.name !== findPlatform(older.index, id)?.name;
    if (!hasChanged) continue;
    const what = `${kind} would ${before === undefined ? 'come back' : 'change to earlier content'}`;
    const found = getOrAdd(counts, what, () => ({ count: 0, named: [] }));
    if (found.count++ < MOST_NAMED) found.named.push(name);
  }
  if (counts.size === 0) return undefined;
  return Array.from(counts, ([what, { count, named }]) => {
    const more = count > named.length ? ` and ${count - named.length} more` : '';
    const [noun, ...rest] = what.split(' ');
    return `${counted(count, noun)} ${rest.join(' ')} (${named.join(', ')}${more})`;
  }).join(', ');
}

/** Ids of other sources are in no record, but only in the file that finds the games of file names. */
function describeIds(current: Manifest | undefined, older: Manifest): string | undefined {
  const hashIn = (manifest: Manifest | undefined) =>
    manifest?.files.find((file) => file.path === MATCH_INDEX)?.sha256;
  if (hashIn(current) === hashIn(older)) return undefined;
  return `ids of other sources may change to earlier ones (${MATCH_INDEX})`;
}
