/** The lists of changes between generations, for all serving threads. A separate thread joins them. */
import { makeHelper } from '../../../lib/program/calls.ts';
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
  /** The changes of the page, each as in the response. */
  readonly elements: readonly string[];
}

export type ReadChanges = ReturnType<typeof makeChanges>['read'];

/** @param report called with what the operator should know: which difference is damaged */
export function makeChanges(snapshotsDir: string, report: (fault: string) => void) {
  const program = new URL('./join-thread.ts', import.meta.url);
  const thread = makeHelper<JoinThread>(program, { workerData: snapshotsDir });
  // A difference stays damaged, and clients may ask for it again and again.
  const reported = new Set<string>();

  /** @returns undefined if no (undamaged) differences lead from one generation to the other */
  async function read(order: PageOrder): Promise<ChangePage | undefined> {
    // Clients ask for this most. It must not wait for a long list.
    if (order.from === order.to) return { total: 0, elements: [] };
    const { page, damage } = await thread.call('readPage', order);
    if (damage !== undefined && !reported.has(damage)) {
      reported.add(damage);
      report(`${damage} Clients that need it get 410 and read the catalogue again.`);
    }
    return page;
  }
  return { read, close: thread.close };
}
