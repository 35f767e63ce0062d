/**
 * A second thread beside the first: jobs run on it one after another, on columns in memory that
 * both see, and it ends with the run.
 */
import { Worker } from 'node:worker_threads';
import type { Jobs } from '../write/jobs.ts';

export interface SecondThread {
  /** @returns what the job returns; rejects with what it throws */
  run<Name extends keyof Jobs>(
    job: Name,
    ...input: Parameters<Jobs[Name]>
  ): Promise<Awaited<ReturnType<Jobs[Name]>>>;
  /** Stops it at once, whatever it does. */
  end(): Promise<void>;
}

export type Answer = { readonly output: unknown } | { readonly error: unknown };

export function startSecondThread(): SecondThread {
  const worker = new Worker(new URL('../write/jobs.ts', import.meta.url));
  const waiting: { resolve(output: unknown): void; reject(error: unknown): void }[] = [];
  let fault: Error | undefined;
  const fail = (error: Error) => {
    fault ??= error;
    for (const { reject } of waiting.splice(0)) reject(fault);
  };
  worker.on('message', (answer: Answer) => {
    const { resolve, reject } = waiting.shift() as (typeof waiting)[number];
    if ('error' in answer) reject(answer.error);
    else resolve(answer.output);
  });
  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('The second thread has ended.')));
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

/** Both results; when either fails, its error, once neither is under way any more. */
export async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
