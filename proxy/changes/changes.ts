/** The lists of changes between generations, for all serving threads. A separate thread joins them. */
import { Worker } from 'node:worker_threads';
import { type Call, makeCalls } from '../workers/calls.ts';
import type { JoinThread } from './join-thread.ts';

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
 * wait, or the list cannot be joined now.
 */
export type PageReply = ChangePage | 'gone' | 'busy';

export type ReadChanges = (order: PageOrder) => Promise<PageReply>;

/** How the joining of a list ended. */
export interface Joined {
  readonly outcome: 'joined' | 'gone' | 'refused' | 'failed';
  /** Which difference is damaged, or what failed. */
  readonly message?: string | undefined;
}

const MOST_WAITING = 1_000;

/**
 * The joining thread starts with the first order. After a failure, the next order starts another one.
 * @param onJoined called after a list was joined, or was not
 */
export function makeChanges(snapshotsDir: string, onJoined: (how: Joined) => void) {
  let worker: Worker | undefined;
  let call: Call<JoinThread>;
  let waiting = 0;

  function start(): Worker {
    const started = new Worker(new URL('./join-thread.ts', import.meta.url), {
      workerData: snapshotsDir,
    });
    call = makeCalls<JoinThread>(started);
    return started
      .on('error', (error) => {
        onJoined({ outcome: 'failed', message: (error as Error).message });
      })
      .on('exit', () => {
        worker = undefined;
      });
  }

  const read: ReadChanges = async (order) => {
    if (order.from === order.to) return { total: 0, count: 0, text: '' };
    if (waiting >= MOST_WAITING) return 'busy';
    waiting++;
    try {
      worker ??= start();
      const { page, joined } = await call('readPage', order);
      if (joined !== undefined) onJoined(joined);
      return page;
    } catch {
      // The thread has ended.
      return 'busy';
    } finally {
      waiting--;
    }
  };
  return { read, close: () => void worker?.terminate() };
}
