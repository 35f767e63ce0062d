/** How the last run ended, whether publishing is held, and how old the data is. */

import { whyHeld } from '../../store/hold.ts';
import { readStatus } from '../../store/run-status.ts';
import { type Check, requireValue } from '../findings/check.ts';

/** As in the alert CoverCatalogueStale, which fires at one hour: both must agree on what is too old. */
const OLD_MS = 3_600_000;
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
      warn(held, 'When the data is right again, run "cover-catalogue snapshot release".');
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
    if (agreed === null || Date.now() - Date.parse(agreed) < OLD_MS) return;
    warn(
      `The data is from ${agreed}, more than an hour old.`,
      'Is "cover-catalogue schedule" running, and how often does GENERATE_CRON start a run?',
    );
  },
};
