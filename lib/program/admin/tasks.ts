/**
 * Counts the tasks that a program repeats, such as exporting keys: how often each succeeded, failed and had
 * nothing to do, how long it took, when it last succeeded, and why it last failed or did nothing.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import { messageOf } from '../failure.ts';

/** What a task returns that has not failed, but has no work: the site does not use it, for example. */
export class NothingToDo {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

export interface Tasks {
  /** Adds a task. @returns a function that does the work, counts it, and returns and throws what it does */
  observe<Arguments extends unknown[], Result>(
    task: string,
    work: (...args: Arguments) => Promise<Result>,
  ): (...args: Arguments) => Promise<Result>;
  /**
   * For each task: when it last succeeded, as RFC 3339 in UTC; why its last run failed; and why it had nothing to
   * do. Or null.
   */
  states(): Record<
    string,
    {
      readonly last_success: string | null;
      readonly error: string | null;
      readonly idle: string | null;
    }
  >;
}

export function makeTasks(registry: Registry): Tasks {
  const states: ReturnType<Tasks['states']> = {};
  const { runs, seconds, failing } = addTaskMetrics(registry);

  return {
    observe(task, work) {
      states[task] = { last_success: null, error: null, idle: null };
      for (const outcome of ['done', 'failed', 'idle']) runs.inc({ task, outcome }, 0);
      failing.set({ task }, 0);
      return async (...args) => {
        const started = performance.now();
        try {
          const result = await work(...args);
          if (result instanceof NothingToDo) {
            states[task] = { ...states[task], error: null, idle: result.reason };
          } else states[task] = { last_success: new Date().toISOString(), error: null, idle: null };
          return result;
        } catch (error) {
          states[task] = { ...states[task], error: messageOf(error), idle: null };
          throw error;
        } finally {
          const { error, idle } = states[task];
          const isFailed = error !== null;
          runs.inc({ task, outcome: isFailed ? 'failed' : idle !== null ? 'idle' : 'done' });
          seconds.inc({ task }, (performance.now() - started) / 1000);
          failing.set({ task }, Number(isFailed));
        }
      };
    },
    states: () => states,
  };
}

function addTaskMetrics(registry: Registry) {
  const configure = (name: string, help: string, ...labelNames: string[]) => {
    return { name, help, labelNames: ['task', ...labelNames], registers: [registry] };
  };
  const runs = 'Ended runs of a repeated task, by outcome: done, failed or idle';
  const seconds = 'How long all runs of a repeated task took together';
  const failing = '1 while the last run of a repeated task has failed';
  return {
    runs: new Counter(configure('task_runs_total', runs, 'outcome')),
    seconds: new Counter(configure('task_seconds_total', seconds)),
    failing: new Gauge(configure('task_failing', failing)),
  };
}
