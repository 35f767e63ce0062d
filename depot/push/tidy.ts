/**
 * Removes replaced generations from a store, after a time of grace, so that a replica can end a pull that
 * it has begun. They must not stay: a cover may have been taken down since.
 *
 * Invariant: nothing is removed that a listed generation needs. A push writes its manifest first, so its
 * objects are needed from the beginning; and if another push begins while this runs, the rest stays.
 */
import { POINTER, PREFIXES } from '../../format/remote-layout.ts';
import type { RemoteObject, RemoteStore } from '../remote/remote.ts';
import { inParallel } from '../transfer/in-parallel.ts';
import { tryAgain } from '../transfer/try-again.ts';
import { listStored, objectsOf, type StoredGeneration } from './stored-generations.ts';

/** How many objects are removed before the generations are listed again. */
const BATCH = 100;
/** When to go on if another push has begun, or if removing has failed. */
export const AGAIN_MS = 60_000;
/** A write is unfinished for good if nothing was written for this time. */
const UNFINISHED_MS = 600_000;

export interface TidyOptions {
  readonly snapshotsDir: string;
  /** The id of the generation that the pointer names. It always stays. */
  readonly currentId: string;
  readonly graceMs: number;
  readonly parallel: number;
}

export interface Tidied {
  /** How many objects were removed. */
  readonly removed: number;
  /** In how many milliseconds there is something to remove again; undefined if not before the next push. */
  readonly againInMs: number | undefined;
}

export async function tidy(remote: RemoteStore, options: TidyOptions): Promise<Tidied> {
  const { snapshotsDir, graceMs, parallel } = options;
  await remote.removeUnfinished(new Date(Date.now() - Math.min(UNFINISHED_MS, graceMs)));
  const stored = await listStored(remote);
  // By the clock of the store, which may differ from that of this machine.
  const now = Math.max(Date.now(), ...stored.map(({ writtenAt }) => writtenAt.getTime()));
  const isOld = (time: number) => time <= now - graceMs;
  const kept = (await addReplaced(remote, stored, options)).filter(
    ({ replacedAt }) => replacedAt === undefined || !isOld(replacedAt),
  );
  const objects = await listAll(remote);
  const needed = new Set<string>();
  for (const { id } of kept) {
    for (const name of await objectsOf(remote, id, snapshotsDir)) needed.add(name);
  }
  const unneeded = objects.filter(({ path }) => !needed.has(path));
  const old = unneeded.filter(({ modifiedAt }) => isOld(modifiedAt.getTime()));
  const later = [
    ...kept.flatMap(({ replacedAt }) => replacedAt ?? []),
    ...unneeded.map(({ modifiedAt }) => modifiedAt.getTime()).filter((time) => !isOld(time)),
  ];
  let removed = 0;
  let againInMs = later.length === 0 ? undefined : Math.min(...later) + graceMs - now;
  for (let first = 0; first < old.length; first += BATCH) {
    if (!areSame(stored, await listStored(remote), removed > 0)) {
      againInMs = AGAIN_MS;
      break;
    }
    const batch = old.slice(first, first + BATCH);
    await inParallel(batch, parallel, ({ path }) =>
      tryAgain(`remove ${path}`, () => remote.remove(path)),
    );
    removed += batch.length;
  }
  return { removed, againInMs };
}

/** A generation, and when it was replaced; undefined if it is the current one, or is being pushed. */
interface Replaced {
  readonly id: string;
  readonly replacedAt: number | undefined;
}

/** A generation is replaced when the pointer moves; for earlier ones, only the time of the next manifest is known. */
async function addReplaced(
  remote: RemoteStore,
  stored: readonly StoredGeneration[],
  { currentId }: TidyOptions,
): Promise<Replaced[]> {
  const [pointer] = await tryAgain(`list ${POINTER}`, () => remote.list(POINTER));
  return stored.map(({ id }, i) => {
    const next = stored[i + 1];
    const movedAt = next?.id === currentId ? pointer?.modifiedAt : undefined;
    const replacedAt = (movedAt ?? next?.writtenAt)?.getTime();
    return { id, replacedAt: id === currentId ? undefined : replacedAt };
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
