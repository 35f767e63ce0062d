/**
 * Limits how much is under way at the same time. A key may have as many slots as are free: whatever it does,
 * others get some. A single key gets half of them.
 */

/** @param most how many slots there are */
export function makeSlots(most: number) {
  const taken = new Map<unknown, number>();
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
      const isFree = (taken.get(key) ?? 0) < free;
      if (isFree) change(key, 1);
      return isFree;
    },
    release: (key: unknown): void => change(key, -1),
  };
}
