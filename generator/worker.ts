/**
 * A worker thread that runs jobs for the main thread, one after another. The input of a job can be columns in
 * memory that both threads share.
 */
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';

/** The functions of the worker's program, by name. */
type JobTable = Readonly<Record<string, (...input: never[]) => unknown>>;

export interface JobWorker<Jobs extends JobTable> {
  /** Runs a job. The promise settles with the result of the job, or the error that it throws. */
  run<Name extends keyof Jobs>(
    job: Name,
    ...input: Parameters<Jobs[Name]>
  ): Promise<Awaited<ReturnType<Jobs[Name]>>>;
  /** Stops the worker at once, even during a job. */
  end(): Promise<void>;
}

type Answer = { readonly output: unknown } | { readonly error: unknown };

/** @param program the module to run, which calls {@link serveJobs} with the same jobs */
export function startWorker<Jobs extends JobTable>(program: URL): JobWorker<Jobs> {
  const worker = new Worker(program, { workerData: program.href });
  // Rejects with the error that has ended the worker, if there is one.
  const ended = once(worker, 'exit').then(() => {
    throw new Error('The worker thread has ended.');
  });
  ended.catch(() => {});
  let previous: Promise<unknown> = Promise.resolve();
  return {
    run(job, ...input) {
      const answered = previous.then(async () => {
        worker.postMessage({ job, input });
        const [answer] = (await Promise.race([once(worker, 'message'), ended])) as [Answer];
        if ('error' in answer) throw answer.error;
        return answer.output;
      });
      previous = answered.catch(() => {});
      return answered as Promise<never>;
    },
    async end() {
      await worker.terminate();
    },
  };
}

/** Called in the program of a worker: runs the jobs that the main thread requests. */
export function serveJobs(program: string, jobs: JobTable): void {
  if (workerData !== program) return;
  parentPort?.on('message', async ({ job, input }: { job: string; input: readonly never[] }) => {
    let answer: Answer;
    try {
      answer = { output: await jobs[job]?.(...input) };
    } catch (error) {
      answer = { error };
    }
    parentPort?.postMessage(answer);
  });
}

/** Waits until both promises have settled. @returns both results @throws the error of one that failed */
export async function both<A, B>(
  one: Promise<A> | undefined,
  other: Promise<B>,
): Promise<[A | undefined, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
