/** The lists of changes between generations, for all serving threads. A separate thread joins them. */

import { makeHelper } from '../../../lib/program/calls.ts';
import type { KeyRecord } from '../../admit/keys/key-table.ts';
import type { JoinThread } from './join-thread.ts';
import type { Client } from './turns.ts';

/** The changes from `first` on, at most `count` of them. */
export interface PageOrder {
  /** The ids of two generations. */
  readonly from: string;
  readonly to: string;
  readonly first: number;
  readonly count: number;
}

export interface PageRequest extends PageOrder {
  /** The id of the key of the request. */
  readonly key: KeyRecord['id'] | undefined;
  readonly client: Client;
}

export interface ChangePage {
  /** The length of the whole list. */
  readonly total: number;
  /** The changes of the page, each as in the response. */
  readonly elements: readonly string[];
}

/**
 * @returns the page; undefined if no (undamaged) differences lead from one generation to the other; 'busy' if
 * the client has left, or its key waits for too many lists
 */
export type ReadChanges = (request: PageRequest) => Promise<ChangePage | 'busy' | undefined>;

/** @param report called with what the operator should know: which difference is damaged */
export function makeChanges(snapshotsDir: string, report: (fault: string) => void) {
  const program = new URL('./join-thread.ts', import.meta.url);
  const thread = makeHelper<JoinThread>(program, { workerData: snapshotsDir });
  // A difference stays damaged, and clients may ask for it again and again.
  const reported = new Set<string>();

  const read: ReadChanges = async (request) => {
    // Clients ask for this most.
    if (request.from === request.to) return { total: 0, elements: [] };
    const found = await thread.call('readPage', request);
    if (found === undefined) return 'busy';
    const { page, damage } = found;
    if (damage !== undefined && !reported.has(damage)) {
      reported.add(damage);
      report(`${damage} Clients that need it get 410 and read the catalogue again.`);
    }
    return page;
  };
  return { read, close: thread.close };
}
