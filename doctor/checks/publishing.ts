/** How the last run ended, whether publishing is held, and how old the data is. */
import { lastRunDue } from '../../generator/cli/cron.ts';
import { whyHeld } from '../../store/hold.ts';
import { readStatus } from '../../store/run-status.ts';
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
