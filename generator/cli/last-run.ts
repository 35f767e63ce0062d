/**
 * How the last run ended, for `/readyz` and the metrics of the schedule. After a restart, and after a run
 * of `cover-catalogue generate`, only `status.json` knows it. On a full disk, a run cannot write that
 * file, so the endings of this process's own runs are also kept in memory.
 */
import type { RunStatus } from '../../format/status-file.ts';
import { utcNow } from '../../program/utc-now.ts';
import { readStatus } from '../../store/run-status.ts';
import type { RunEnding } from './runs.ts';

export interface LastRun {
  /** @returns undefined if no run has ended yet, or none is known */
  read(): RunStatus | undefined;
  /** Keeps how a run of this process ended. */
  remember(ending: RunEnding): void;
}

export function makeLastRun(snapshotsDir: string): LastRun {
  let own: Pick<RunStatus, 'finished_at' | 'outcome' | 'error'> | undefined;
  return {
    read() {
      const stored = readStatus(snapshotsDir);
      if (own === undefined) return stored;
      // A run of `generate` has ended since.
      if (stored !== undefined && Date.parse(stored.finished_at) > Date.parse(own.finished_at)) {
        return stored;
      }
      return { current_as_of: null, agreed: [], ...stored, ...own };
    },
    remember({ outcome, error }) {
      // The run that held the lock has an ending of its own.
      if (outcome === 'locked') return;
      own = { finished_at: utcNow(), outcome, error };
    },
  };
}
