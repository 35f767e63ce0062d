/**
 * Merges sorted lists into one sorted list, however many and however long they are: it holds one item
 * of each list at a time, in a binary heap.
 */

interface Head<T> {
  item: T;
  /** The number of the list that the item comes from. */
  readonly list: number;
  readonly rest: Iterator<T>;
}

/**
 * @param lists each sorted by `compare`
 * @returns every item with the number of its list; equal items come in the order of their lists
 */
export function* mergeSorted<T>(
  lists: readonly Iterable<T>[],
  compare: (a: T, b: T) => number,
): Generator<{ readonly item: T; readonly list: number }> {
  // The smallest item is at 0; neither of the items at 2i + 1 and 2i + 2 is smaller than that at i.
  const heap: Head<T>[] = [];
  const isBefore = (a: Head<T>, b: Head<T>) => (compare(a.item, b.item) || a.list - b.list) < 0;

  /** Puts a head at a position, or below it, wherever the order of the heap needs it. */
  function sink(head: Head<T>, start: number): void {
    let at = start;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], head)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = head;
  }

  for (const [list, items] of lists.entries()) {
    const rest = items[Symbol.iterator]();
    const first = rest.next();
    if (!first.done) heap.push({ item: first.value, list, rest });
  }
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap[at], at);
  while (heap.length > 0) {
    const [head] = heap;
    yield { item: head.item, list: head.list };
    const next = head.rest.next();
    if (!next.done) {
      head.item = next.value;
      sink(head, 0);
      continue;
    }
    const last = heap.pop() as Head<T>;
    if (heap.length > 0) sink(last, 0);
  }
}
