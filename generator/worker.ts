/**
 * The worker thread of a large run, which shares its memory with the main thread. It runs one job after another.
 * This module is also the program of the thread.
 */
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { orderGames } from './order/numbering.ts';
import { allSynced } from './write/file-writer.ts';
import { writeCoverPacks, writeGames } from './write/write-generation.ts';

const JOBS = { orderGames, writeGames, writeCoverPacks, allSynced };
type Jobs = typeof JOBS;
type Answer = { readonly output: unknown } | { readonly error: unknown };

export type RunWorker = ReturnType<typeof startWorker>;

export function startWorker() {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: import.meta.url,
    // With the small young generation of the main thread, a full run takes 4 % more CPU time, and no less memory.
    resourceLimits: { maxYoungGenerationSizeMb: 24 },
  });
  // Rejects with the error that has ended the worker, if there is one.
  const ended = once(worker, 'exit').then(() => {
    throw new Error('The worker thread has ended.');
  });
  ended.catch(() => {});
  let previous: Promise<unknown> = Promise.resolve();
  return {
    /** The promise settles with the result of the job, or the error that it throws. */
    run<Name extends keyof Jobs>(
      job: Name,
      ...input: Parameters<Jobs[Name]>
    ): Promise<Awaited<ReturnType<Jobs[Name]>>> {
      const answered = previous.then(async () => {
        worker.postMessage({ job, input });
        const [answer] = (await Promise.race([once(worker, 'message'), ended])) as [Answer];
        if ('error' in answer) throw answer.error;
        return answer.output;
      });
      previous = answered.catch(() => {});
      return answered as Promise<never>;
    },
    /** Stops the worker at once, even during a job. */
    end: () => worker.terminate(),
  };
}

if (workerData === import.meta.url) {
  parentPort?.on(
    'message',
    async ({ job, input }: { job: keyof Jobs; input: readonly never[] }) => {
      const run = JOBS[job] as (...values: readonly never[]) => unknown;
      let answer: Answer;
      try {
        answer = { output: await run(...input) };
      } catch (error) {
        answer = { error };
      }
      parentPort?.postMessage(answer);
    },
  );
}
