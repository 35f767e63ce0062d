/** The lists of changes between generations, for all serving threads. A separate thread joins them. */
import { Worker } from 'node:worker_threads';

/** The changes from `first` on, at most `count` of them. */
export interface PageOrder {
  /** The ids of two generations. */
  readonly from: string;
  readonly to: string;
  readonly first: number;
  readonly count: number;
}

export interface ChangePage {
  /** The length of the whole list. */
  readonly total: number;
  /** How many changes the page has. */
  readonly count: number;
  /** The changes as in the response, with separators between them. */
  readonly text: string;
}

/**
 * `gone`: no (undamaged) differences lead from one generation to the other. `busy`: too many requests
 * wait, or the thread failed.
 */
export type PageReply = ChangePage | 'gone' | 'busy';

/** Calls `answer` once, at once or later. */
export type ReadChanges = (order: PageOrder, answer: (reply: PageReply) => void) => void;

/** How the joining of a list ended. */
export interface Joined {
  readonly outcome: 'joined' | 'gone' | 'refused';
  /** Which difference is damaged. */
  readonly message?: string | undefined;
}

export interface JoinOrder {
  readonly number: number;
  readonly order: PageOrder;
}

export interface JoinReply {
  /** That of the order. */
  readonly number: number;
  readonly page: ChangePage | 'gone';
  /** If a list was joined for it. */
  readonly joined?: Joined;
}

const MOST_WAITING = 1_000;

/**
 * Reads lists of changes on another thread.
 * @param send sends an order, with a number that its reply must have
 */
export function makeThreadChanges(send: (number: number, order: PageOrder) => void) {
  const waiting = new Map<number, (reply: PageReply) => void>();
  let last = 0;
  const read: ReadChanges = (order, answer) => {
    if (order.from === order.to) return answer({ total: 0, count: 0, text: '' });
    if (waiting.size >= MOST_WAITING) return answer('busy');
    waiting.set(++last, answer);
    send(last, order);
  };
  function answered(number: number, reply: PageReply): void {
    const answer = waiting.get(number);
    waiting.delete(number);
    answer?.(reply);
  }
  return { read, answered, waiting: () => [...waiting.keys()] };
}

export interface ChangeEvents {
  joined(how: Joined): void;
  /** The joining thread failed. */
  failed(error: Error): void;
}

export interface Changes {
  readonly read: ReadChanges;
  close(): void;
}

/** The joining thread starts with the first order. After a failure, the next order starts another one. */
export function makeChanges(snapshotsDir: string, events: ChangeEvents): Changes {
  let worker: Worker | undefined;
  const changes = makeThreadChanges((number, order) => {
    worker ??= start();
    worker.postMessage({ number, order });
  });

  function start(): Worker {
    const program = new URL('./join-thread.ts', import.meta.url);
    return new Worker(program, { workerData: snapshotsDir })
      .on('message', ({ number, page, joined }: JoinReply) => {
        if (joined !== undefined) events.joined(joined);
        changes.answered(number, page);
      })
      .on('error', (error) => events.failed(error as Error))
      .on('exit', () => {
        worker = undefined;
        for (const number of changes.waiting()) changes.answered(number, 'busy');
      });
  }

  return { read: changes.read, close: () => void worker?.terminate() };
}
