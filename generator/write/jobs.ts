/**
 * What the second thread can be asked to do. This module is its program, too: answers go back in
 * the order of the questions.
 */
import { isMainThread, parentPort } from 'node:worker_threads';
import { checkPackFiles } from '../../store/generations/check-packs.ts';
import { orderGames } from '../order/numbering.ts';
import type { Answer } from '../worker/worker.ts';
import { allSynced } from './file-writer.ts';
import { writeCoverPacks } from './write-covers.ts';
import { writeGames } from './write-games.ts';
import { writeSearch } from './write-search.ts';

const JOBS = { orderGames, writeGames, writeSearch, writeCoverPacks, checkPackFiles, allSynced };

export type Jobs = typeof JOBS;

interface Question {
  readonly job: keyof Jobs;
  readonly input: readonly unknown[];
}

if (!isMainThread) {
  let previous = Promise.resolve();
  parentPort?.on('message', (question: Question) => {
    previous = previous.then(() => answer(question)).then((done) => parentPort?.postMessage(done));
  });
}

async function answer({ job, input }: Question): Promise<Answer> {
  try {
    const run = JOBS[job] as (...values: readonly unknown[]) => unknown;
    return { output: await run(...input) };
  } catch (error) {
    return { error };
  }
}
