/** Reads lists of changes on a worker thread: it asks the store in the first thread, by messages. */
import type { PageOrder, PageReply, ReadChanges } from './change-store.ts';

export interface ThreadChanges {
  readonly read: ReadChanges;
  /** The reply to an order. */
  answered(number: number, reply: PageReply): void;
}

/** @param askStore sends an order, with a number that the reply must have, to the store */
export function makeThreadChanges(
  askStore: (number: number, order: PageOrder) => void,
): ThreadChanges {
  const waiting = new Map<number, (reply: PageReply) => void>();
  let last = 0;
  return {
    read(order, answer) {
      waiting.set(++last, answer);
      askStore(last, order);
    },
    answered(number, reply) {
      const answer = waiting.get(number);
      waiting.delete(number);
      answer?.(reply);
    },
  };
}
