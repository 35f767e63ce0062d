/**
 * Removes replaced generations from a depot, after a time of grace, so that a replica can end a pull that
 * it has begun. They must not stay: a cover may have been taken down since.
 *
 * Invariant: nothing is removed that the current generation needs, or that a push under way has just sent.
 */
import { LARGEST_MANIFEST, parseManifest } from '../format/manifest.ts';
import {
  GENERATION_PREFIXES,
  idOfStoredManifest,
  MANIFESTS,
  storedFile,
  storedManifest,
} from '../format/release.ts';
import type { StoredObject, WritableDepot } from './depot.ts';
import { readLocalManifest } from './pull.ts';
import { inParallel, readObject, systemClock, tryAgain } from './transfers.ts';

const PARALLEL = 8;
/** When to try again after a failure. */
export const AGAIN_MS = 60_000;

export interface TidyOptions {
  readonly snapshotsDir: string;
  /** The id of the generation that the release names. It always stays. */
  readonly currentId: string;
  readonly graceMs: number;
}

export interface Tidied {
  /** How many objects were removed. */
  readonly removed: number;
  /** In how many milliseconds there is something to remove again; undefined if not before the next push. */
  readonly againInMs: number | undefined;
}

export async function tidy(
  depot: WritableDepot,
  { snapshotsDir, currentId, graceMs }: TidyOptions,
): Promise<Tidied> {
  const lists = GENERATION_PREFIXES.map((prefix) =>
    tryAgain(`list ${prefix}`, () => depot.list(prefix), systemClock),
  );
  const objects = (await Promise.all(lists)).flat();
  const timeOf = ({ modifiedAt }: StoredObject) => modifiedAt.getTime();
  // By the clock of the depot, which may differ from that of this machine.
  const now = objects.reduce((time, object) => Math.max(time, timeOf(object)), Date.now());
  // A manifest is the last object of a push before the release, so it tells when the one before was replaced.
  const manifests = objects
    .filter(({ path }) => path.startsWith(MANIFESTS))
    .sort((a, b) => timeOf(a) - timeOf(b));
  const needed = new Set<string>();
  const later: number[] = [];
  for (const [i, { path }] of manifests.entries()) {
    const next = manifests[i + 1];
    const isCurrent = path === storedManifest(currentId);
    if (!isCurrent && next !== undefined) {
      const removableAt = timeOf(next) + graceMs;
      if (removableAt <= now) continue;
      later.push(removableAt);
    }
    for (const name of await objectsOf(depot, path, snapshotsDir)) needed.add(name);
  }
  const unneeded = objects.filter(({ path }) => !needed.has(path));
  const isOld = (object: StoredObject) => timeOf(object) + graceMs <= now;
  later.push(...unneeded.filter((object) => !isOld(object)).map((each) => timeOf(each) + graceMs));
  // Manifests come first: then no reader finds a generation whose files are gone.
  const old = unneeded.filter(isOld);
  await inParallel(old, PARALLEL, ({ path }) =>
    tryAgain(`remove ${path}`, () => depot.remove(path), systemClock),
  );
  const againInMs = later.length === 0 ? undefined : Math.min(...later) - now;
  return { removed: old.length, againInMs };
}

/** What a stored generation needs. One whose manifest is damaged needs nothing: nobody can pull it. */
async function objectsOf(
  depot: WritableDepot,
  path: string,
  snapshotsDir: string,
): Promise<string[]> {
  const id = idOfStoredManifest(path);
  if (id === undefined) return [];
  const encoded =
    readLocalManifest(snapshotsDir, id) ??
    (await readObject(depot, path, LARGEST_MANIFEST, systemClock));
  try {
    const { files } = parseManifest(encoded ?? '');
    return [path, ...files.map(({ sha256 }) => storedFile(sha256))];
  } catch {
    return [];
  }
}
