/**
 * Caches the resources of the current generation that are requested repeatedly from one thread, with
 * their bodies in each coding that a client has wanted so far.
 *
 * Invariant: the cache contains resources of one generation only, and no reference to that generation.
 */
import { LRUCache } from 'lru-cache';
import { makeAdmissionFilter } from './admission-filter.ts';
import type { Resource } from './resources/resource.ts';
import type { RouteName } from './routes/route.ts';

const MOST_BYTES = 24 * 1024 * 1024;
/** The approximate size of an entry without its bodies: header fields, objects, a buffer. */
const ENTRY_BYTES = 1_500;
/** Longer targets are rarely requested twice, so they are not cached. */
const LONGEST_TARGET = 512;

export interface CachedResource {
  readonly route: RouteName;
  readonly resource: Resource;
}

export interface ResourceCache {
  /**
   * Looks up a target and notes that it was requested.
   * @returns the cached entry; 'repeated' if the target is not cached but was requested recently;
   * otherwise 'new'
   */
  find(snapshot: string, target: string): CachedResource | 'repeated' | 'new';
  /** Adds the entry for a target that {@link ResourceCache.find} called 'repeated'. */
  add(snapshot: string, target: string, entry: CachedResource): void;
}

export function makeResourceCache(): ResourceCache {
  const filter = makeAdmissionFilter();
  let entries = new LRUCache<string, CachedResource>({ maxSize: MOST_BYTES });
  // Only the id: a reference to the generation would keep the generation in memory.
  let current: string | undefined;

  return {
    find(snapshot, target) {
      if (snapshot !== current) {
        entries = new LRUCache<string, CachedResource>({ maxSize: MOST_BYTES });
        current = snapshot;
      }
      if (target.length > LONGEST_TARGET || !filter.isKnown(target)) return 'new';
      return entries.get(target) ?? 'repeated';
    },
    add(snapshot, target, { route, resource }) {
      if (snapshot !== current) return;
      // Twice the body: the text of a small body or the compressed forms of a large one come later.
      const size = ENTRY_BYTES + target.length + 2 * resource.identity.body.length;
      entries.set(target, { route, resource: withOwnBody(resource) }, { size });
    },
  };
}

/** Copies a small body: it is a slice of a pool of Node, and would keep the whole pool in memory. */
function withOwnBody(resource: Resource): Resource {
  const { body } = resource.identity;
  if (body.length === body.buffer.byteLength) return resource;
  const copy = Buffer.allocUnsafeSlow(body.length);
  body.copy(copy);
  return { ...resource, identity: { ...resource.identity, body: copy } };
}
