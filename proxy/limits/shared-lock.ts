/**
 * A lock in shared memory. It is held only for the few instructions that count a request. A state of
 * its own says that a thread is waiting, so that an unlock with nobody waiting is one atomic exchange.
 */

const FREE = 0;
/** Held; no thread is waiting. */
const HELD = 1;
/** Held; another thread may be waiting. */
const AWAITED = 2;

/** Takes the lock. Waits while another thread holds it. */
export function lock(locks: Int32Array, index: number): void {
  if (Atomics.compareExchange(locks, index, FREE, HELD) === FREE) return;
  while (Atomics.exchange(locks, index, AWAITED) !== FREE) Atomics.wait(locks, index, AWAITED);
}

export function unlock(locks: Int32Array, index: number): void {
  if (Atomics.exchange(locks, index, FREE) === AWAITED) Atomics.notify(locks, index, 1);
}
