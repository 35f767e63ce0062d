/**
 * Work that two threads share out between them as they go: one takes it from the front, the other
 * from the back, until they meet, so that both are done at the same time.
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

/** The numbers of the items that fall to this thread, each taken when it is asked for. */
export function* takeFrom({ items, taken }: SharedQueue, end: QueueEnd): Generator<number> {
  for (let own = 0; Atomics.add(taken, 0, 1) < items; own++) {
    yield end === 'front' ? own : items - 1 - own;
  }
}
