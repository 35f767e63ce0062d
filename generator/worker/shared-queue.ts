/**
 * A queue of items that two threads share: one thread takes items from the front, the other from the
 * back, until they meet. So both finish at about the same time, however long each item takes.
 */
import { sharedZeros } from '../../format/index/shared-zeros.ts';

export interface SharedQueue {
  /** How many items there are; an item is a number from 0. */
  readonly items: number;
  /** One entry, in memory that both threads share: how often a thread has requested an item. */
  readonly taken: Int32Array;
}

export type QueueEnd = 'front' | 'back';

export function makeSharedQueue(items: number): SharedQueue {
  return { items, taken: sharedZeros(Int32Array, 1) };
}

/** Yields the items that this thread takes. An item is taken when the caller requests it. */
export function* takeFrom({ items, taken }: SharedQueue, end: QueueEnd): Generator<number> {
  for (let own = 0; Atomics.add(taken, 0, 1) < items; own++) {
    yield end === 'front' ? own : items - 1 - own;
  }
}
