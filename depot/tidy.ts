/**
 * Removes replaced generations from a depot, after a time of grace, so that a replica can end a pull that
 * it has begun. They must not stay: a cover may have been taken down since.
 *
 * Invariant: nothing is removed that the current generation needs, or that a push under way has just sent.
 */
import { LARGEST_MANIFEST, type Manifest, parseManifest } from '../format/manifest.ts';
import { GENERATION_PREFIXES, MANIFESTS, storedFile, storedManifest } from '../format/release.ts';
import type { StoredObject, WritableDepot } from './depot.ts';
import { inParallel, readObject, systemClock, tryAgain } from './transfers.ts';

const PARALLEL = 8;
/** When to try again after a failure. */
export const AGAIN_MS = 60_000;

export interface TidyOptions {
  /** The manifest of the generation that the release names. It always stays. */
  readonly current: Manifest;
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
  { current, graceMs }: TidyOptions,
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
  const needed = new Set(objectsOf(current));
  const later: number[] = [];
  for (const [i, { path }] of manifests.entries()) {
    const next = manifests[i + 1];
    if (needed.has(path)) continue;
    if (next !== undefined) {
      const removableAt = timeOf(next) + graceMs;
      if (removableAt <= now) continue;
      later.push(removableAt);
    }
    const encoded = await readObject(depot, path, LARGEST_MANIFEST, systemClock);
    for (const name of objectsOf(encoded && tryParse(encoded))) needed.add(name);
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

function objectsOf(manifest: Manifest | undefined): string[] {
  if (manifest === undefined) return [];
  return [storedManifest(manifest.id), ...manifest.files.map(({ sha256 }) => storedFile(sha256))];
}

/** @returns undefined if it is damaged: then nobody can pull its generation, which needs nothing */
function tryParse(encoded: Buffer): Manifest | undefined {
  try {
    return parseManifest(encoded);
  } catch {
    return undefined;
  }
}
