/** The program of the thread that makes lists of changes, so that no request to a serving thread waits for it. */
import { parentPort, workerData } from 'node:worker_threads';
import { makeCalls } from '../../../lib/program/calls.ts';
import type { PageRequest } from './changes.ts';
import { makeLists, type Page } from './lists.ts';
import { makeTurns } from './turns.ts';

const readPage = makeLists(workerData);
const takeTurns = makeTurns<Page>();
const functions = {
  /** @returns undefined if the client has left, or its key waits for too many lists */
  readPage(request: PageRequest): Promise<Page | undefined> {
    const { key, client, from, to } = request;
    return takeTurns(key, `${from} ${to}`, client, readPage(request));
  },
};
export type JoinThread = typeof functions;

if (parentPort === null) throw new Error('join-thread.ts can only run as a worker thread.');
makeCalls(parentPort, functions);
