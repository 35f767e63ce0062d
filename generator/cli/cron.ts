/** GENERATE_CRON, the times at which `cover-catalogue schedule` starts a run. */
import { createTask, validate } from 'node-cron';

/** The value with which `schedule` starts no runs. */
export const NO_RUNS = 'off';
/** In UTC, like all times of this product. */
export const CRON_TIMEZONE = 'UTC';
const MINUTE_MS = 60_000;
/** At most this many minutes are searched: two months, which takes a second. */
const MOST_MINUTES = 100_000;

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
  // An expression of six fields begins with seconds.
  const fields = cron.trim().split(/\s+/);
  const isMinuteDue = makeMatcher(fields.slice(-5).join(' '));
  const isDue = makeMatcher(cron);
  const seconds = fields.length > 5 ? 59 : 0;
  const last = Math.floor(to / MINUTE_MS) * MINUTE_MS;
  const before = Math.max(from - MINUTE_MS, last - MOST_MINUTES * MINUTE_MS);
  for (let minute = last; minute > before; minute -= MINUTE_MS) {
    if (!isMinuteDue(minute)) continue;
    for (let time = minute + seconds * 1_000; time >= minute; time -= 1_000) {
      if (time <= to && time > from && isDue(time)) return time;
    }
  }
  return undefined;
}

function makeMatcher(cron: string): (time: number) => boolean {
  const task = createTask(cron, () => {}, { timezone: CRON_TIMEZONE });
  void task.destroy();
  return (time) => task.match(new Date(time));
}
