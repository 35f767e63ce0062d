/**
 * The jobs of a run's worker thread. This module is also the program that the worker runs.
 */
import { isMainThread } from 'node:worker_threads';
import { orderGames } from '../order/numbering.ts';
import { type JobWorker, makeWorker, serveJobs } from '../worker/worker.ts';
import { checkPackFiles } from './check-packs.ts';
import { allSynced } from './file-writer.ts';
import { writeCoverPacks } from './write-covers.ts';
import { writeGames } from './write-games.ts';
import { writeSearch } from './write-search.ts';

const JOBS = { orderGames, writeGames, writeSearch, writeCoverPacks, checkPackFiles, allSynced };

/** The handle with which the main thread controls the worker of a run. */
export type RunWorker = JobWorker<typeof JOBS>;

export function makeRunWorker(): RunWorker {
  return makeWorker(new URL(import.meta.url));
}

if (!isMainThread) serveJobs(JOBS);
