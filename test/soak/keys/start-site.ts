/** Starts what a site with accounts runs, with the programs and intervals of a real one. */
import path from 'node:path';
import { type RunningPages, startPages } from '../../support/account.ts';
import {
  end,
  makeFolder,
  type RunningProxy,
  startProgram,
  startProxy,
} from '../../support/product.ts';
import { freePort } from '../../support/servers/ports.ts';
import { until } from '../support/until.ts';

export interface RunningSite {
  readonly snapshotsDir: string;
  /** Browsers reach the pages through it. */
  readonly proxy: RunningProxy;
  readonly pages: RunningPages;
  stop(): Promise<void>;
}

/**
 * Starts the schedule, a proxy, and the account pages behind it.
 * @param variables of the account pages
 */
export async function startSite(
  databaseUrl: string,
  variables: Readonly<Record<string, string>>,
): Promise<RunningSite> {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  const environment = { DATABASE_URL: databaseUrl, SNAPSHOTS_DIR: snapshotsDir };
  const schedule = startProgram('generator/cli/schedule.ts', [], environment);
  schedule.stdout?.resume();
  schedule.stderr?.resume();
  const port = String(await freePort());
  const proxy = await startProxy(snapshotsDir, {
    ACCOUNT_URL: `http://127.0.0.1:${port}`,
    // The tests poll with keys that do not work yet, or no longer.
    ADDRESS_RATE_LIMIT: '100000',
  });
  const pages = await startPages(databaseUrl, {
    ACCOUNT_PORT: port,
    PUBLIC_URL: proxy.url,
    ...variables,
  });
  await until(async () => (await proxy.readyz()).status === 200);
  return {
    snapshotsDir,
    proxy,
    pages,
    async stop() {
      await pages.stop();
      await proxy.stop();
      await end(schedule, 'SIGTERM');
    },
  };
}
