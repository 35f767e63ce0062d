/**
 * A worker thread that runs jobs for the main thread, one after another. The input of a job can be
 * columns in memory that both threads share. The main thread calls {@link makeWorker}; the worker's
 * program calls {@link serveJobs}.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, Worker } from 'node:worker_threads';
import { freeMemory } from './free-memory.ts';

/** The functions of the worker's program, by name. */
export type JobTable = Readonly<Record<string, (...input: never[]) => unknown>>;

export interface JobWorker<Jobs extends JobTable> {
  /** Runs a job. The promise settles with the result of the job, or the error that it throws. */
  run<Name extends keyof Jobs>(
    job: Name,
    ...input: Parameters<Jobs[Name]>
  ): Promise<Awaited<ReturnType<Jobs[Name]>>>;
  /** Stops the worker at once, even during a job. */
  end(): Promise<void>;
}

interface JobRequest {
  readonly job: string;
  readonly input: readonly unknown[];
}

type Answer = { readonly output: unknown } | { readonly error: unknown };

/**
 * The thread starts with its first job, since a run that finds nothing new needs none.
 * @param program the module to run, which calls {@link serveJobs} with the same jobs
 */
export function makeWorker<Jobs extends JobTable>(program: URL): JobWorker<Jobs> {
  let started: JobWorker<Jobs> | undefined;
  return {
    run(job, ...input) {
      started ??= startWorker<Jobs>(program);
      return started.run(job, ...input);
    },
    end: async () => started?.end(),
  };
}

function startWorker<Jobs extends JobTable>(program: URL): JobWorker<Jobs> {
  const worker = new Worker(program);
  // One entry for each job that has no answer yet. The worker answers jobs in the order of this list.
  const waiting: { resolve(output: unknown): void; reject(error: unknown): void }[] = [];
  let fault: Error | undefined;
  const fail = (error: Error) => {
    fault ??= error;
    for (const { reject } of waiting.splice(0)) reject(fault);
  };
  worker.on('message', (answer: Answer) => {
    const first = waiting.shift();
    if ('error' in answer) first?.reject(answer.error);
    else first?.resolve(answer.output);
  });
  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('The worker thread has ended.')));
  return {
    run: (job, ...input) =>
      new Promise((resolve, reject) => {
        if (fault) return reject(fault);
        waiting.push({ resolve: resolve as (output: unknown) => void, reject });
        worker.postMessage({ job, input });
      }),
    async end() {
      await worker.terminate();
    },
  };
}

/** Called in the worker: runs the jobs that the main thread requests, one after another. */
export function serveJobs(jobs: JobTable): void {
  let previous = Promise.resolve();
  parentPort?.on('message', (request: JobRequest) => {
    previous = previous
      .then(() => answer(jobs, request))
      .then((output) => parentPort?.postMessage(output))
      // Later, since the call of the job still refers to its input.
      .then(() => nextTurn())
      .then(freeMemory);
  });
}

async function answer(jobs: JobTable, { job, input }: JobRequest): Promise<Answer> {
  try {
    const run = jobs[job] as (...input: readonly unknown[]) => unknown;
    return { output: await run(...input) };
  } catch (error) {
    return { error };
  }
}

/** Waits until both promises have settled. @returns both results @throws the error of one that failed */
export async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
