/** GENERATE_CRON, the times at which `cover-catalogue schedule` starts a run. */
import { validate } from 'node-cron';

/** The value with which `schedule` starts no runs. */
export const NO_RUNS = 'off';
/** In UTC, like all times of this product. */
export const CRON_TIMEZONE = 'UTC';

/** @throws Error that says what is allowed and continues the sentence "GENERATE_CRON …" */
export function checkCron(text: string): void {
  if (text === NO_RUNS || validate(text)) return;
  throw new Error(
    `must be a cron expression such as */15 * * * *, or ${NO_RUNS}, not ${JSON.stringify(text)}.`,
  );
}
