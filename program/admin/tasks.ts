/**
 * Counts the tasks that a program repeats, such as exporting keys: how often each succeeded and failed, how
 * long it took, when it last succeeded, and why it last failed.
 */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface Tasks {
  /** Adds a task. @returns a function that does the work, counts it, and throws what it throws */
  observe<Arguments extends unknown[], Result>(
    task: string,
    work: (...args: Arguments) => Promise<Result>,
  ): (...args: Arguments) => Promise<Result>;
  /** For each task: when it last succeeded, as RFC 3339 in UTC, and why its last run failed; or null. */
  states(): Record<string, { readonly last_success: string | null; readonly error: string | null }>;
}

export function makeTasks(registry: Registry): Tasks {
  const states: ReturnType<Tasks['states']> = {};
  /** Undefined before the first task: a program without tasks has no metrics of them. */
  let metrics: ReturnType<typeof addTaskMetrics> | undefined;

  return {
    observe(task, work) {
      metrics ??= addTaskMetrics(registry);
      const { runs, seconds, lastSuccess, failing } = metrics;
      states[task] = { last_success: null, error: null };
      for (const outcome of ['done', 'failed']) runs.inc({ task, outcome }, 0);
      failing.set({ task }, 0);
      return async (...args) => {
        const started = performance.now();
        try {
          const result = await work(...args);
          states[task] = { last_success: new Date().toISOString(), error: null };
          lastSuccess.set({ task }, Date.now() / 1000);
          return result;
        } catch (error) {
          states[task] = { ...states[task], error: (error as Error).message };
          throw error;
        } finally {
          const isFailed = states[task].error !== null;
          runs.inc({ task, outcome: isFailed ? 'failed' : 'done' });
          seconds.inc({ task }, (performance.now() - started) / 1000);
          failing.set({ task }, Number(isFailed));
        }
      };
    },
    states: () => states,
  };
}

function addTaskMetrics(registry: Registry) {
  const configure = (name: string, help: string) => {
    return { name, help, labelNames: ['task', 'outcome'], registers: [registry] };
  };
  const [runs, seconds] = [
    ['task_runs_total', 'Ended runs of a repeated task, by outcome: done or failed'],
    ['task_seconds_total', 'How long all runs of a repeated task took together'],
  ].map(([name, help]) => new Counter(configure(name, help)));
  const [lastSuccess, failing] = [
    [
      'task_last_success_timestamp_seconds',
      'When a repeated task last succeeded, since the start of the program',
    ],
    ['task_failing', '1 while the last run of a repeated task has failed'],
  ].map(([name, help]) => new Gauge(configure(name, help)));
  return { runs, seconds, lastSuccess, failing };
}
