/**
 * The slots of downloads on one thread: each download takes one until it ends. A key may have a few, and
 * some slots are for keys with no download under way, so keys with many downloads keep no other waiting.
 *
 * Invariant: a key with no download is refused only while `reserved` other keys or more have one.
 */
export interface DownloadSlots {
  /** @returns whether the key gets a slot. Then it must be given back with {@link free}. */
  take(key: string): boolean;
  free(key: string): void;
}

export interface SlotCounts {
  /** Of all keys together. Each takes a piece of memory and, if its client is slow, a connection. */
  readonly most: number;
  readonly perKey: number;
  /** How many slots only the first download of a key may take. */
  readonly reserved: number;
}

export function makeDownloadSlots({ most, perKey, reserved }: SlotCounts): DownloadSlots {
  /** How many slots each key has. It contains only keys with at least one. */
  const taken = new Map<string, number>();
  let total = 0;
  return {
    take(key) {
      const own = taken.get(key) ?? 0;
      if (own >= perKey || total >= (own === 0 ? most : most - reserved)) return false;
      taken.set(key, own + 1);
      total++;
      return true;
    },
    free(key) {
      total--;
      const left = (taken.get(key) ?? 0) - 1;
      if (left > 0) taken.set(key, left);
      else taken.delete(key);
    },
  };
}
