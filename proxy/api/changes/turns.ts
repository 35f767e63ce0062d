/**
 * Shares a thread between the keys that wait for it. Work is done in short steps. Keys take turns, and one
 * that has just come goes first, so short work does not wait for long work. Invariant: of the work of a key,
 * one piece is under way and few different ones wait.
 */

/** How many different pieces of work a key may have. */
export const MOST_PER_KEY = 8;

interface Work<Result> extends PromiseWithResolvers<Result | undefined> {
  /** Of two with one name, the second takes hardly any steps. */
  readonly name: string;
  readonly steps: Iterator<void, Result>;
}

/**
 * @returns a function that does work, and resolves with its result; undefined if its key has too much of it. The
 * first step is taken at once, so it must be short
 */
export function makeTurns<Result>() {
  /** The first one has the next turn. */
  const queues: { readonly key: unknown; readonly works: Work<Result>[] }[] = [];

  function takeTurn(): void {
    const [queue] = queues.splice(0, 1);
    if (takeStep(queue.works[0])) queue.works.shift();
    if (queue.works.length > 0) queues.push(queue);
    if (queues.length > 0) setImmediate(takeTurn);
  }

  /** @returns whether it was the last one */
  function takeStep({ steps, resolve, reject }: Work<Result>): boolean {
    try {
      const { done, value } = steps.next();
      if (done) resolve(value);
      return done === true;
    } catch (error) {
      reject(error);
      return true;
    }
  }

  return async (key: unknown, name: string, steps: Iterator<void, Result>) => {
    const { done, value } = steps.next();
    if (done) return value;
    const work = { name, steps, ...Promise.withResolvers<Result | undefined>() };
    const queue = queues.find((each) => each.key === key);
    if (queue === undefined) {
      if (queues.unshift({ key, works: [work] }) === 1) setImmediate(takeTurn);
      return work.promise;
    }
    const names = new Set(queue.works.map((other) => other.name));
    if (names.size >= MOST_PER_KEY && !names.has(name)) return undefined;
    queue.works.push(work);
    return work.promise;
  };
}
