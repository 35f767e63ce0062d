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
  states(): Record<string, TaskState>;
}

export interface TaskState {
  readonly last_success: string | null;
  readonly error: string | null;
}

export function makeTasks(registry: Registry): Tasks {
  const states: Record<string, TaskState> = {};
  /** Undefined before the first task: a program without tasks has no metrics of them. */
  let metrics: TaskMetrics | undefined;

  return {
    observe(task, work) {
      metrics ??= addTaskMetrics(registry);
      const { runs, seconds, lastSuccess, failing } = metrics;
      states[task] = { last_success: null, error: null };
      for (const outcome of ['done', 'failed']) runs.inc({ task, outcome }, 0);
      failing.set({ task }, 0);
      return async (...args) => {
        const started = performance.now();
        const end = (outcome: 'done' | 'failed') => {
          runs.inc({ task, outcome });
          seconds.inc({ task }, (performance.now() - started) / 1000);
          failing.set({ task }, Number(outcome === 'failed'));
        };
        try {
          const result = await work(...args);
          end('done');
          lastSuccess.set({ task }, Date.now() / 1000);
          states[task] = { last_success: new Date().toISOString(), error: null };
          return result;
        } catch (error) {
          end('failed');
          const { last_success = null } = states[task] ?? {};
          states[task] = { last_success, error: (error as Error).message };
          throw error;
        }
      };
    },
    states: () => states,
  };
}

type TaskMetrics = ReturnType<typeof addTaskMetrics>;

function addTaskMetrics(registry: Registry) {
  const labelNames = ['task'] as const;
  const registers = [registry];
  return {
    runs: new Counter({
      name: 'task_runs_total',
      help: 'Ended runs of a repeated task, by outcome: done or failed',
      labelNames: ['task', 'outcome'] as const,
      registers,
    }),
    seconds: new Counter({
      name: 'task_seconds_total',
      help: 'How long all runs of a repeated task took together',
      labelNames,
      registers,
    }),
    lastSuccess: new Gauge({
      name: 'task_last_success_timestamp_seconds',
      help: 'When a repeated task last succeeded, since the start of the program',
      labelNames,
      registers,
    }),
    failing: new Gauge({
      name: 'task_failing',
      help: '1 while the last run of a repeated task has failed',
      labelNames,
      registers,
    }),
  };
}
