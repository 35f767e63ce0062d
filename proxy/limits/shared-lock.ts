/**
 * A lock in shared memory, for the few instructions in which a caller's request is counted. Three
 * states tell whoever lets go whether anyone waits, so that the usual case is one atomic exchange.
 */

const FREE = 0;
const HELD = 1;
const AWAITED = 2;

/** Takes the lock; waits for another thread if need be. */
export function lock(locks: Int32Array, index: number): void {
  if (Atomics.compareExchange(locks, index, FREE, HELD) === FREE) return;
  while (Atomics.exchange(locks, index, AWAITED) !== FREE) Atomics.wait(locks, index, AWAITED);
}

export function unlock(locks: Int32Array, index: number): void {
  if (Atomics.exchange(locks, index, FREE) === AWAITED) Atomics.notify(locks, index, 1);
}
