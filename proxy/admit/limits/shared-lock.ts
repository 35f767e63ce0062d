/**
 * A lock in shared memory. It is held only for the few instructions that count a request. A state of
 * its own says that a thread is waiting, so that an unlock with nobody waiting is one atomic exchange.
 */

const FREE = 0;
/** Held; no thread is waiting. */
const HELD = 1;
/** Held; another thread may be waiting. */
const AWAITED = 2;

/** Does some work under the lock. Waits while another thread holds it. */
export function withLock<T>(locks: Int32Array, index: number, work: () => T): T {
  if (Atomics.compareExchange(locks, index, FREE, HELD) !== FREE) {
    while (Atomics.exchange(locks, index, AWAITED) !== FREE) Atomics.wait(locks, index, AWAITED);
  }
  try {
    return work();
  } finally {
    if (Atomics.exchange(locks, index, FREE) === AWAITED) Atomics.notify(locks, index, 1);
  }
}
