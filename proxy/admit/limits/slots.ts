/**
 * Limits how much is under way at the same time. A key may have as many slots as are free for it, and the last
 * eighth is only for keys that have none: whatever some keys do, others get a slot.
 */

/** @param most how many slots there are */
export function makeSlots(most: number) {
  const taken = new Map<unknown, number>();
  const kept = Math.ceil(most / 8);
  let free = most;

  function change(key: unknown, by: 1 | -1): void {
    const own = (taken.get(key) ?? 0) + by;
    if (own === 0) taken.delete(key);
    else taken.set(key, own);
    free -= by;
  }

  return {
    /** @returns whether the key gets one */
    take(key: unknown): boolean {
      const own = taken.get(key) ?? 0;
      const isFree = own === 0 ? free > 0 : own < free - kept;
      if (isFree) change(key, 1);
      return isFree;
    },
    release: (key: unknown): void => change(key, -1),
  };
}
