/**
 * The jobs of a run that another thread can do. In a large run, it shares the work and the memory of the main
 * thread. In any other, the main thread does a job once its result is needed.
 * This module is also the program of the thread.
 */
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { orderGames } from './order/numbering.ts';
import { Output } from './write/file-writer.ts';
import type { CoverSource, WriteSource } from './write/packs.ts';
import { writeCoverPacks, writeGames } from './write/write-generation.ts';

/** @param output of the thread that does the jobs */
function makeJobs(output: Output) {
  return {
    orderGames,
    writeGames: (source: WriteSource) => writeGames(output, source),
    writeCoverPacks: (source: CoverSource, taken: Int32Array) =>
      writeCoverPacks(output, source, taken),
    allSynced: () => output.allSynced(),
  };
}

type JobsByName = ReturnType<typeof makeJobs>;
type Name = keyof JobsByName;
type Input<Job extends Name> = Parameters<JobsByName[Job]>;
type Result<Job extends Name> = Awaited<ReturnType<JobsByName[Job]>>;
/** Returns a result, or the promise of it; every call returns the same. */
type Later<T> = () => Promise<T>;

export interface Jobs {
  /** Hands a job over. */
  start<Job extends Name>(job: Job, input: Later<Input<Job>>): Promise<Later<Result<Job>>>;
  /** Makes what further jobs need: at once, if a thread waits for it. */
  prepare<T>(make: Later<T>): Promise<Later<T>>;
  /** Lets each thread do a job. @returns their results */
  share<Job extends Name>(job: Job, ...input: Input<Job>): Promise<Result<Job>[]>;
  /** Stops the other thread at once, even during a job. */
  end(): Promise<unknown>;
}

/** @param isShared whether another thread is started @param dir the folder of the generation */
export function startJobs(dir: string, output: Output, isShared: boolean): Jobs {
  const jobs = makeJobs(output);
  const doJob = async <Job extends Name>(job: Job, input: Input<Job>): Promise<Result<Job>> => {
    const run = jobs[job] as (...values: Input<Job>) => Result<Job>;
    return run(...input);
  };
  if (!isShared) {
    return {
      start: async (job, input) => lazily(() => input().then((values) => doJob(job, values))),
      prepare: async (make) => lazily(make),
      share: async (job, ...input) => [await doJob(job, input)],
      end: async () => {},
    };
  }
  const thread = startThread(dir);
  return {
    async start(job, input) {
      const result = thread.run(job, await input());
      // It is awaited later. A rejection before that must not count as unhandled.
      result.catch(() => {});
      return () => result;
    },
    async prepare(make) {
      const made = await make();
      return async () => made;
    },
    share: (job, ...input) => both(thread.run(job, input), doJob(job, input)),
    end: thread.end,
  };
}

function lazily<T>(make: Later<T>): Later<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Waits until both promises have settled. @returns both results @throws the error of one that failed */
export async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}

type Answer = { readonly output: unknown } | { readonly error: unknown };

/** Starts the thread, which does one job after another. */
function startThread(dir: string) {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { program: import.meta.url, dir },
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
    run<Job extends Name>(job: Job, input: Input<Job>): Promise<Result<Job>> {
      const answered = previous.then(async () => {
        worker.postMessage({ job, input });
        const [answer] = (await Promise.race([once(worker, 'message'), ended])) as [Answer];
        if ('error' in answer) throw answer.error;
        return answer.output;
      });
      previous = answered.catch(() => {});
      return answered as Promise<never>;
    },
    end: () => worker.terminate(),
  };
}

if (workerData?.program === import.meta.url) {
  const jobs = makeJobs(new Output(workerData.dir));
  parentPort?.on('message', async ({ job, input }: { job: Name; input: readonly never[] }) => {
    const run = jobs[job] as (...values: readonly never[]) => unknown;
    let answer: Answer;
    try {
      answer = { output: await run(...input) };
    } catch (error) {
      answer = { error };
    }
    parentPort?.postMessage(answer);
  });
}
