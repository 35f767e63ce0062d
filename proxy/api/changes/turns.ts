/**
 * Shares a thread between the clients that wait for it. Work is done in short steps. Keys take turns, and one
 * that has just come goes first, so short work does not wait for long work. Invariant: of the work of a key,
 * one piece is under way and few wait; what a client has left is given up.
 */

/** How many different pieces of work a key may have. */
export const MOST_PER_KEY = 8;

/** A number in memory that the thread of the client sets. */
export type Client = Int32Array;
export const CLIENT = {
  waits: 0,
  /** It will send no more. Nearly all such clients have left, but some still read. */
  ended: 1,
  left: 2,
} as const;

interface Work<Result> extends PromiseWithResolvers<Result | undefined> {
  /** The second of two pieces with the same name needs hardly any steps: the result is cached. */
  readonly name: string;
  readonly client: Client;
  readonly steps: Iterator<void, Result>;
}

/**
 * @returns a function that does work, and resolves with its result; undefined if the work was given up, or its
 * key has too much of it. The first step is taken at once, so it must be short
 */
export function makeTurns<Result>() {
  /** The first one has the next turn. */
  const queues: { readonly key: unknown; works: Work<Result>[] }[] = [];

  function takeTurn(): void {
    const [queue] = queues.splice(0, 1);
    if (takeStep(queue.works[0])) queue.works.shift();
    if (queue.works.length > 0) queues.push(queue);
    if (queues.length > 0) setImmediate(takeTurn);
  }

  /** @returns whether it was the last one */
  function takeStep({ client, steps, resolve, reject }: Work<Result>): boolean {
    try {
      const isLeft = client[0] === CLIENT.left;
      const { done, value } = isLeft ? { done: true, value: undefined } : steps.next();
      if (done) resolve(value as Result | undefined);
      return done === true;
    } catch (error) {
      reject(error);
      return true;
    }
  }

  return async (key: unknown, name: string, client: Client, steps: Iterator<void, Result>) => {
    const { done, value } = steps.next();
    if (done) return value;
    const work = { name, client, steps, ...Promise.withResolvers<Result | undefined>() };
    const queue = queues.find((each) => each.key === key);
    if (queue === undefined) {
      if (queues.unshift({ key, works: [work] }) === 1) setImmediate(takeTurn);
      return work.promise;
    }
    queue.works = queue.works.filter((other) => {
      const isWanted = other.client[0] === CLIENT.waits;
      if (!isWanted) other.resolve(undefined);
      return isWanted;
    });
    const names = new Set(queue.works.map((other) => other.name));
    if (names.size >= MOST_PER_KEY && !names.has(name)) return undefined;
    queue.works.push(work);
    return work.promise;
  };
}
