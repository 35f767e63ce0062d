/**
 * The resources of the current generation that one thread is asked for repeatedly, with their
 * bodies in each coding that was made.
 *
 * Invariant: it holds resources of one generation only, and nothing else of that generation.
 */
import { LRUCache } from 'lru-cache';
import { makeAdmissionFilter } from './admission-filter.ts';
import type { Resource } from './resource.ts';
import type { RouteName } from './routes.ts';

const MOST_BYTES = 24 * 1024 * 1024;
/** About what an entry takes besides its bodies: header fields, objects, a buffer. */
const ENTRY_BYTES = 1_500;
/** Longer targets are rarely asked for twice. */
const LONGEST_TARGET = 512;

export interface CachedResource {
  readonly route: RouteName;
  readonly resource: Resource;
}

export interface ResourceCache {
  /**
   * Looks a target up, and notes that it was asked for.
   * @returns 'repeated' when it is not cached though it was asked for recently, or else 'new'
   */
  find(snapshot: string, target: string): CachedResource | 'repeated' | 'new';
  /** Adds what a target that is 'repeated' stands for. */
  add(snapshot: string, target: string, entry: CachedResource): void;
}

export function makeResourceCache(): ResourceCache {
  const filter = makeAdmissionFilter();
  let entries = new LRUCache<string, CachedResource>({ maxSize: MOST_BYTES });
  // The id only: a reference to the generation would keep it in memory.
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
      // Text of a small body, or compressed forms of a large one, join the body later.
      const size = ENTRY_BYTES + target.length + 2 * resource.identity.body.length;
      entries.set(target, { route, resource: withOwnBody(resource) }, { size });
    },
  };
}

/** A small body is a slice of a pool of Node's, all of which it would keep in memory. */
function withOwnBody(resource: Resource): Resource {
  const { body } = resource.identity;
  if (body.length === body.buffer.byteLength) return resource;
  const copy = Buffer.allocUnsafeSlow(body.length);
  body.copy(copy);
  return { ...resource, identity: { ...resource.identity, body: copy } };
}
