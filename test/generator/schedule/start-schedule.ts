/** Starts `cover-catalogue schedule` as a program. */
import { makeLog } from '../../support/log.ts';
import { end, startProgram } from '../../support/product.ts';

/** A time that does not come while a test runs. */
const NEVER = '0 0 1 1 *';

export function startSchedule(
  databaseUrl: string,
  snapshotsDir: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const child = startProgram('generator/cli/schedule.ts', [], {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: snapshotsDir,
    GENERATE_CRON: NEVER,
    LOG_LEVEL: 'debug',
    ...environment,
  });
  const log = makeLog();
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', log.write);
  const closed = new Promise<void>((resolve) => {
    child.once('close', (code) => {
      log.end(`The schedule ended with ${code}`);
      resolve();
    });
  });
  return {
    /** Its log so far, with the lines of its runs. */
    log: log.text,
    logged: log.logged,
    /** Sends SIGTERM. @returns the exit code */
    async stop() {
      const code = await end(child, 'SIGTERM');
      await closed;
      return code;
    },
  };
}
