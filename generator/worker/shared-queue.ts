/**
 * A queue of items that two threads share: one takes items from the front, the other from the back,
 * until they meet. So both finish at about the same time, however long each item takes.
 */
import { numbers } from '../columns/row-columns.ts';

export interface SharedQueue {
  readonly items: number;
  /** One entry: how many were taken. */
  readonly taken: Int32Array;
}

export type QueueEnd = 'front' | 'back';

export function makeSharedQueue(items: number): SharedQueue {
  return { items, taken: numbers(Int32Array, 1) };
}

/** The numbers of the items that this thread takes, each taken when the caller asks for the next. */
export function* takeFrom({ items, taken }: SharedQueue, end: QueueEnd): Generator<number> {
  for (let own = 0; Atomics.add(taken, 0, 1) < items; own++) {
    yield end === 'front' ? own : items - 1 - own;
  }
}
