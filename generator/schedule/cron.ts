/** GENERATE_CRON, the times at which `cover-catalogue schedule` starts a run. */
import { type ScheduledTask, schedule, validate } from 'node-cron';

/** The value with which `schedule` starts no runs. */
export const NO_RUNS = 'off';
/** In UTC, like all times of this product. */
const TIMEZONE = 'UTC';

/** @throws Error that says what is allowed and continues the sentence "GENERATE_CRON …" */
export function checkCron(text: string): void {
  if (text === NO_RUNS || validate(text)) return;
  throw new Error(
    `must be a cron expression such as */15 * * * *, or ${NO_RUNS}, not ${JSON.stringify(text)}.`,
  );
}

/**
 * Calls `start` at the times of a cron expression, unless its last call is under way. From then on, the process
 * is in UTC.
 */
export function startAt(cron: string, start: () => Promise<unknown>): ScheduledTask {
  // node-cron rounds the current time in the zone of the process. Where clocks go back, it would be an hour off
  // then, and start nothing for an hour.
  process.env.TZ = TIMEZONE;
  return schedule(cron, start, { noOverlap: true, timezone: TIMEZONE });
}
