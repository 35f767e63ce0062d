/** How the last run ended, whether publishing is held, and how old the data is. */
import { createTask } from 'node-cron';
import { whyHeld } from '../../generations/hold.ts';
import { readStatus } from '../../generations/run-status.ts';
import { CRON_TIMEZONE, NO_RUNS } from '../../generator/cli/cron.ts';
import { type Check, requireValue } from '../findings/check.ts';

/** As in the alert CoverCatalogueStale, which fires at one hour: both must agree on what is too old. */
const OLD_MS = 3_600_000;
/** A run that was due less long ago may still be under way. */
const LONGEST_RUN_MS = OLD_MS / 2;
const FIXES = {
  refused:
    'See report.json in SNAPSHOTS_DIR and "Publishing" in OPERATIONS.md. Fix the data, or run "cover-catalogue generate --force" if this is what you want.',
  failed: 'Correct what the message names, then run "cover-catalogue generate".',
};

export const publishing: Check = {
  name: 'publishing',
  programs: ['schedule'],
  async run(scene, { ok, warn, error }) {
    const snapshotsDir = requireValue(scene, 'SNAPSHOTS_DIR');
    const held = whyHeld(snapshotsDir);
    if (held !== undefined) {
      warn(held, 'When the data is right again, run "cover-catalogue snapshot resume".');
    }
    const status = readStatus(snapshotsDir);
    if (status === undefined) {
      ok('No run has ended yet.');
      return;
    }
    const { outcome, finished_at: at, current_as_of: agreed } = status;
    if (outcome === 'refused' || outcome === 'failed') {
      error(
        `The last run, at ${at}, ${outcome === 'failed' ? 'failed' : 'was refused'}: ${status.error}`,
        FIXES[outcome],
      );
    } else ok(`The last run ended at ${at}: ${outcome}.`);
    if (agreed === null) return;
    const [from, now] = [Date.parse(agreed), Date.now()];
    if (now - from < OLD_MS) return;
    const cron = requireValue(scene, 'GENERATE_CRON');
    const due = lastRunDue(cron, from, now - LONGEST_RUN_MS);
    if (due === undefined) return;
    warn(
      `The data is from ${agreed}, although GENERATE_CRON, ${cron}, should have started a run at ${new Date(due).toISOString()}.`,
      'Is "cover-catalogue schedule" running? Its log says how that run ended.',
    );
  },
};

const MINUTE_MS = 60_000;
/** At most this many minutes are searched: two months, which takes a second. */
const MOST_MINUTES = 100_000;

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
