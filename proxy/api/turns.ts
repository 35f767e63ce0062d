/**
 * Shares a serving thread between the requests that take long and all others. Such work is done in steps, in
 * turns of a few milliseconds; between two turns, the thread serves what has arrived. Keys take turns. Invariant:
 * of the work of a key, one piece is under way, and what a client has left is not begun or given up.
 */
import type { KeyRecord } from '../admit/keys/key-table.ts';
import type { ApiRequest } from '../http/request.ts';

/** How many steps of a key may wait, as counted in advance: they take about a second, and a server in front waits ten. */
const MOST_WAITING = 512;

/**
 * How long the steps of a turn take together: none begins after this. The longest one takes 10 ms, and most take 0.1:
 * with one step a turn, a search would cost half of its time again.
 */
export const TURN_MS = 3;

/** Why work was not done: too much of the key is waiting, or the client has left. */
type NotDone = 'full' | 'left';

/** Who wants the result of some work. */
interface Requester {
  readonly key?: KeyRecord['id'] | undefined;
  readonly socket?: ApiRequest['socket'];
}

interface Work<Result> extends PromiseWithResolvers<Result | NotDone> {
  /** How many steps it has at least. */
  readonly count: number;
  readonly socket: Requester['socket'];
  readonly steps: Iterator<void, Result>;
}

/**
 * @param now a clock in milliseconds
 * @returns a function that does work; the result is there at once if one step is enough, and the turn not over
 */
export function makeTurns<Result>(now: () => number) {
  /** The first one has the next step. */
  const queues: { readonly key: unknown; works: Work<Result>[] }[] = [];
  /** How long the steps of this turn have taken, in milliseconds. */
  let spent = 0;
  let isNextPlanned = false;

  const isOver = () => spent >= TURN_MS;

  /** Before the next turn, the thread serves what has arrived. Planning it after each search costs a tenth of one. */
  function planNextTurn(): void {
    if (isNextPlanned || !(isOver() || queues.length > 0)) return;
    isNextPlanned = true;
    setImmediate(beginTurn);
  }

  function beginTurn(): void {
    isNextPlanned = false;
    spent = 0;
    while (queues.length > 0 && !isOver()) takeNext();
    planNextTurn();
  }

  /** @returns the result of one step */
  function takeStep(steps: Iterator<void, Result>): IteratorResult<void, Result> {
    const startedAt = now();
    try {
      return steps.next();
    } finally {
      spent += now() - startedAt;
    }
  }

  /** @returns whether it was the last step */
  function goOn(work: Work<Result>): boolean {
    try {
      const { done, value } = takeStep(work.steps);
      if (done) work.resolve(value);
      return done === true;
    } catch (error) {
      work.reject(error);
      return true;
    }
  }

  function takeNext(): void {
    const queue = queues.shift();
    if (queue === undefined) return;
    if (!isWanted(queue.works[0]) || goOn(queue.works[0])) queue.works.shift();
    if (queue.works.length > 0) queues.push(queue);
  }

  function add(key: unknown, work: Work<Result>): void {
    const queue = queues.find((each) => each.key === key);
    if (queue === undefined) {
      queues.push({ key, works: [work] });
      return;
    }
    const isFull = () => stepsOf(queue.works) + work.count > MOST_WAITING;
    if (isFull()) queue.works = queue.works.filter(isWanted);
    if (isFull()) work.resolve('full');
    else queue.works.push(work);
  }

  /**
   * @param count how many steps it has at least
   * @returns the result, or a promise if it must wait for another turn
   */
  return (
    { key, socket }: Requester,
    count: number,
    steps: Iterator<void, Result>,
  ): Result | Promise<Result | NotDone> => {
    try {
      const isWaiting = isOver() || queues.some((each) => each.key === key);
      if (!isWaiting) {
        const { done, value } = takeStep(steps);
        if (done) return value;
      }
      const resolvers = Promise.withResolvers<Result | NotDone>();
      add(key, { socket, count, steps, ...resolvers });
      return resolvers.promise;
    } finally {
      planNextTurn();
    }
  };
}

function stepsOf(works: readonly { readonly count: number }[]): number {
  return works.reduce((sum, { count }) => sum + count, 0);
}

function isWanted<Result>({ socket, resolve }: Work<Result>): boolean {
  const isLeft = socket?.destroyed === true;
  if (isLeft) resolve('left');
  return !isLeft;
}
