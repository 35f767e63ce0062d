/** GENERATE_CRON, the times at which `cover-catalogue schedule` starts a run. */
import { createTask, validate } from 'node-cron';

/** The value with which `schedule` starts no runs. */
export const NO_RUNS = 'off';
/** In UTC, like all times of this product. */
export const CRON_TIMEZONE = 'UTC';
/** So many times are compared with the expression: the minutes of two months. They take a second. */
const MOST_COMPARED = 100_000;

/** @throws Error that says what is allowed and continues the sentence "GENERATE_CRON …" */
export function checkCron(text: string): void {
  if (text === NO_RUNS || validate(text)) return;
  throw new Error(
    `must be a cron expression such as */15 * * * *, or ${NO_RUNS}, not ${JSON.stringify(text)}.`,
  );
}

/**
 * When `cover-catalogue schedule` should last have started a run, in milliseconds since 1970.
 * @param cron a valid GENERATE_CRON
 * @returns undefined if no run was due after `from` and until `to`
 */
export function lastRunDue(cron: string, from: number, to: number): number | undefined {
  if (cron === NO_RUNS) return undefined;
  const task = createTask(cron, () => {}, { timezone: CRON_TIMEZONE });
  // An expression of six fields begins with seconds.
  const step = cron.trim().split(/\s+/).length > 5 ? 1_000 : 60_000;
  const last = Math.floor(to / step) * step;
  const first = Math.max(from, last - MOST_COMPARED * step);
  let time = last;
  while (time > first && !task.match(new Date(time))) time -= step;
  void task.destroy();
  return time > first ? time : undefined;
}
