/** Starts `cover-catalogue schedule` as a program. */

import type { Texts } from '#test/support/processes.ts';
import { type RunningProgram, startLogged } from '#test/support/product.ts';

/** A time that does not come while a test runs. */
const NEVER = '0 0 1 1 *';

export function startSchedule(
  databaseUrl: string,
  snapshotsDir: string,
  environment: Texts = {},
): RunningProgram {
  return startLogged('schedule', [], {
    ...{ DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: snapshotsDir },
    ...{ GENERATE_CRON: NEVER, LOG_LEVEL: 'debug', ...environment },
  });
}
