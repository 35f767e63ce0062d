/** The jobs of a run's worker thread. This module is also the program that the worker runs. */
import { orderGames } from '../order/numbering.ts';
import { type JobWorker, serveJobs, startWorker } from '../worker.ts';
import { allSynced } from './file-writer.ts';
import { writeCoverPacks, writeGames } from './write-generation.ts';

const JOBS = { orderGames, writeGames, writeCoverPacks, allSynced };
export type RunWorker = JobWorker<typeof JOBS>;

export function startRunWorker(): RunWorker {
  return startWorker(new URL(import.meta.url));
}

serveJobs(import.meta.url, JOBS);
