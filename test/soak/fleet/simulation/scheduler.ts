/**
 * Simulated time: events run in the order of their times, and the promises that one event resolves are
 * settled before the next one runs. So a run depends only on its seed.
 */

export interface Scheduler {
  /** The true time, in milliseconds. */
  now(): number;
  /** Runs an event later. @returns a function that cancels it */
  after(milliseconds: number, event: () => void): () => void;
  /**
   * Runs all events up to a time.
   * @param isOver asked after each event: whether to end at once
   */
  runUntil(time: number, isOver?: () => boolean): Promise<void>;
}

interface Event {
  readonly time: number;
  readonly number: number;
  readonly run: () => void;
  isCancelled: boolean;
}

export function makeScheduler(): Scheduler {
  const heap: Event[] = [];
  let time = 0;
  let count = 0;

  const isBefore = (a: Event, b: Event) =>
    a.time < b.time || (a.time === b.time && a.number < b.number);

  function push(event: Event): void {
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = event;
  }

  function pop(): Event {
    const [first] = heap;
    const last = heap.pop() as Event;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }

  return {
    now: () => time,
    after(milliseconds, run) {
      const event = {
        time: time + Math.max(0, milliseconds),
        number: count++,
        run,
        isCancelled: false,
      };
      push(event);
      return () => {
        event.isCancelled = true;
      };
    },
    async runUntil(end, isOver = () => false) {
      while (heap.length > 0 && heap[0].time <= end) {
        const event = pop();
        if (event.isCancelled) continue;
        time = event.time;
        event.run();
        // Settles all promises. Nothing in a simulation waits for anything else.
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (isOver()) return;
      }
      time = end;
    },
  };
}
