/**
 * Shares a serving thread between the requests that take long and all others. Such work is done in steps
 * of a few milliseconds; between two of them, the thread serves what has arrived. Keys take turns. Invariant:
 * of the work of a key, one piece is under way, and what a client has left is not begun or given up.
 */
import type { Requester } from './routes/route.ts';

/** How much of the work of a key may wait. */
const MOST_WAITING = 256;

/** Why there is no result, by the name of the error to send. */
const LEFT = 'busy';
const TOO_MANY = 'manyWaiting';
type Unfinished = typeof LEFT | typeof TOO_MANY;

interface Work<Result> extends PromiseWithResolvers<Result | Unfinished> {
  readonly socket: Requester['socket'];
  readonly begin: () => Iterator<void, Result>;
  /** Undefined before its first turn. */
  steps: Iterator<void, Result> | undefined;
}

/** @returns a function that does work; the result is there at once if the first step is the only one */
export function makeTurns<Result>() {
  /** The first one has the next turn. */
  const queues: { readonly key: unknown; works: Work<Result>[] }[] = [];
  /** Whether a turn was taken since the thread last served what had arrived. */
  let isTaken = false;

  function add(key: unknown, work: Work<Result>): void {
    const queue = queues.find((each) => each.key === key);
    if (queue === undefined) {
      queues.push({ key, works: [work] });
      return;
    }
    if (queue.works.length >= MOST_WAITING) queue.works = queue.works.filter(isWanted);
    if (queue.works.length < MOST_WAITING) queue.works.push(work);
    else work.resolve(TOO_MANY);
  }

  function takeNext(): void {
    const queue = queues.shift();
    isTaken = queue !== undefined;
    if (queue === undefined) return;
    setImmediate(takeNext);
    if (!isWanted(queue.works[0]) || takeStep(queue.works[0])) queue.works.shift();
    if (queue.works.length > 0) queues.push(queue);
  }

  /** @param begin called at its first turn @returns a promise if it must wait for another turn */
  return (
    { key, socket }: Requester,
    begin: () => Iterator<void, Result>,
  ): Result | Promise<Result | Unfinished> => {
    const work = {
      socket,
      begin,
      steps: undefined,
      ...Promise.withResolvers<Result | Unfinished>(),
    };
    if (isTaken) {
      add(key, work);
      return work.promise;
    }
    isTaken = true;
    setImmediate(takeNext);
    const steps = begin();
    const { done, value } = steps.next();
    if (done) return value;
    add(key, { ...work, steps });
    return work.promise;
  };
}

function isWanted<Result>({ socket, resolve }: Work<Result>): boolean {
  const isLeft = socket?.destroyed === true;
  if (isLeft) resolve(LEFT);
  return !isLeft;
}

/** @returns whether it was the last one */
function takeStep<Result>(work: Work<Result>): boolean {
  try {
    work.steps ??= work.begin();
    const { done, value } = work.steps.next();
    if (done) work.resolve(value);
    return done === true;
  } catch (error) {
    work.reject(error);
    return true;
  }
}
