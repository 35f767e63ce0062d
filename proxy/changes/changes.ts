/** The lists of changes between generations, for all serving threads. A separate thread joins them. */
import { makeHelper } from '../workers/calls.ts';
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

const MOST_WAITING = 1_000;

/** @param report called with what the operator should know: why a list could not be joined */
export function makeChanges(snapshotsDir: string, report: (fault: string) => void) {
  const program = new URL('./join-thread.ts', import.meta.url);
  const thread = makeHelper<JoinThread>(program, { workerData: snapshotsDir });
  // A difference stays damaged, and clients may ask for it again and again.
  const reported = new Set<string>();
  let waiting = 0;

  const read: ReadChanges = async (order) => {
    if (order.from === order.to) return { total: 0, count: 0, text: '' };
    if (waiting >= MOST_WAITING) return 'busy';
    waiting++;
    try {
      const { page, damage } = await thread.call('readPage', order);
      if (damage !== undefined && !reported.has(damage)) {
        reported.add(damage);
        report(`${damage} Clients that need it get 410 and read the catalogue again.`);
      }
      return page;
    } catch (error) {
      report(`Differences cannot be joined: ${(error as Error).message}`);
      return 'busy';
    } finally {
      waiting--;
    }
  };
  return { read, close: thread.close };
}
