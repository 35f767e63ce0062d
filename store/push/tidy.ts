/**
 * Removes what no generation in a store needs any more, after a time of grace, so that a replica can end
 * a pull that it has begun.
 *
 * Invariant: nothing is removed that a listed generation needs. A push writes its manifest first, so its
 * objects are needed from the beginning; and if another push begins while this runs, the rest stays.
 */
import { PREFIXES } from '../../format/remote-layout.ts';
import { KEPT_GENERATIONS } from '../prune.ts';
import type { RemoteObject, RemoteStore } from '../remote/remote.ts';
import { inParallel } from '../transfer/in-parallel.ts';
import { tryAgain } from '../transfer/try-again.ts';
import { listStored, objectsOf, type StoredGeneration } from './stored-generations.ts';

/** How many objects are removed before the generations are listed again. */
const BATCH = 100;
/** A write is unfinished for good if nothing was written for this time. */
const UNFINISHED_MS = 600_000;

export interface TidyOptions {
  readonly snapshotsDir: string;
  /** The id of the generation that the pointer names. It always stays. */
  readonly currentId: string;
  readonly graceMs: number;
  readonly parallel: number;
}

/** @returns how many objects were removed */
export async function tidy(remote: RemoteStore, options: TidyOptions): Promise<number> {
  const { snapshotsDir, graceMs, parallel } = options;
  await remote.removeUnfinished(new Date(Date.now() - Math.min(UNFINISHED_MS, graceMs)));
  const stored = await listStored(remote);
  // By the clock of the store, which may differ from that of this machine.
  const now = Math.max(Date.now(), ...stored.map(({ writtenAt }) => writtenAt.getTime()));
  const kept = keptOf(stored, now - graceMs, options.currentId);
  const objects = await listAll(remote);
  const needed = new Set<string>();
  for (const { id } of kept) {
    for (const name of await objectsOf(remote, id, snapshotsDir)) needed.add(name);
  }
  const unneeded = objects.filter(
    ({ path, modifiedAt }) => !needed.has(path) && modifiedAt.getTime() <= now - graceMs,
  );
  let removed = 0;
  for (let first = 0; first < unneeded.length; first += BATCH) {
    if (!areSame(stored, await listStored(remote), removed > 0)) break;
    const batch = unneeded.slice(first, first + BATCH);
    await inParallel(batch, parallel, ({ path }) =>
      tryAgain(`remove ${path}`, () => remote.remove(path)),
    );
    removed += batch.length;
  }
  return removed;
}

/**
 * The newest generations, the current one, and those that were replaced less than the time of grace ago:
 * a generation is replaced when the next manifest is written.
 */
function keptOf(
  stored: readonly StoredGeneration[],
  replacedSince: number,
  currentId: string,
): StoredGeneration[] {
  return stored.filter(({ id }, i) => {
    const replacedAt = stored[i + 1]?.writtenAt.getTime() ?? Number.POSITIVE_INFINITY;
    return id === currentId || i >= stored.length - KEPT_GENERATIONS || replacedAt > replacedSince;
  });
}

async function listAll(remote: RemoteStore): Promise<RemoteObject[]> {
  const lists: RemoteObject[][] = [];
  // Manifests come first in the result, and are removed first: then no reader finds a generation whose
  // files are gone.
  for (const prefix of [PREFIXES.generations, PREFIXES.files, PREFIXES.deltas]) {
    lists.push(await tryAgain(`list ${prefix}`, () => remote.list(prefix)));
  }
  return lists.flat();
}

/** Whether nobody has pushed in the meantime. @param isFewer whether manifests may be gone since */
function areSame(
  before: readonly StoredGeneration[],
  now: readonly StoredGeneration[],
  isFewer: boolean,
): boolean {
  const known = new Map(before.map(({ id, writtenAt }) => [id, writtenAt.getTime()]));
  const isKnown = now.every(({ id, writtenAt }) => known.get(id) === writtenAt.getTime());
  return isKnown && (isFewer || now.length === before.length);
}
