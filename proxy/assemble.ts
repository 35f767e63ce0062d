/**
 * Creates the parts of a proxy from its environment and connects them: the serving threads, and what the
 * first thread does for them: it polls the files in `SNAPSHOTS_DIR`, reports key usage, writes the access
 * log, and answers the admin address.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { MINISEARCH_OPTIONS_HASH } from '../format/index/minisearch-hash.ts';
import { findOtherCollation } from '../format/manifest.ts';
import type { Environment } from '../program/environment/environment.ts';
import { poll } from '../program/poll.ts';
import { type LogFile, openLogFile } from './access-log/log-file.ts';
import { makeProxyAdmin } from './admin/admin.ts';
import { makeChanges } from './changes/changes.ts';
import { makeKeyStore } from './keys/key-store.ts';
import { makeKeyUsage } from './keys/key-usage.ts';
import { makeMaintenanceFile } from './maintenance.ts';
import { openSnapshots, type SnapshotEvents } from './snapshot/snapshots.ts';
import { makeStarts, now, SERVING_VARIABLES } from './workers/serving-thread.ts';
import { startServingThreads } from './workers/serving-threads.ts';

// After ACCESS_LOG: without a log, its file is not checked.
export const VARIABLES = [...SERVING_VARIABLES, 'ACCESS_LOG_FILE'] as const;

export type ProxyEnvironment = Environment<(typeof VARIABLES)[number]>;

/** How long load balancers have to notice that this proxy is not ready before it stops listening. */
const NOTICE_MS = 500;

/** How often a proxy polls, in milliseconds. */
export const INTERVALS = {
  /** Each poll reads one symbolic link. */
  snapshot: 100,
  /** Each poll reads the modification time. An owner of a new key waits for it. */
  keys: 200,
  maintenance: 1_000,
  usage: 60_000,
};
export type Intervals = typeof INTERVALS;

export interface Proxy {
  readonly accessLog: LogFile;
  /** Reads each file for the first time, then listens. @returns the addresses, such as 127.0.0.1:8080 */
  start(): Promise<{ readonly api: string; readonly admin: string }>;
  /** Reads each file now. Resolves when all threads serve what they say. */
  refresh(): Promise<void>;
  /**
   * Lets the requests under way finish, and ends all threads.
   * @param pause waits until load balancers have noticed
   */
  stop(pause?: () => Promise<unknown>): Promise<void>;
  readonly isStopping: () => boolean;
}

/** What tests replace. */
export interface Surroundings {
  readonly intervals?: Intervals;
  readonly redisTimeoutMs?: number;
}

export async function assemble(
  environment: ProxyEnvironment,
  log: Logger,
  { intervals = INTERVALS, redisTimeoutMs }: Surroundings = {},
): Promise<Proxy> {
  const { SNAPSHOTS_DIR: snapshotsDir, PROXY_THREADS: count } = environment;
  const starts = makeStarts(environment, redisTimeoutMs);
  const [{ maintenance: maintenanceCell }] = starts;
  // Without a log, nothing is written, and the file is left alone.
  const accessLog = openLogFile(
    environment.ACCESS_LOG === 0 ? '' : environment.ACCESS_LOG_FILE,
    log,
  );
  const changes = makeChanges(snapshotsDir, (fault) => log.error(fault));
  const threads = await startServingThreads(
    starts,
    {
      readChanges: changes.read,
      writeLines: accessLog.write,
    },
    log,
    (error) => {
      log.fatal({ err: error }, 'a worker thread failed');
      process.exit(1);
    },
  );
  let swaps = 0;
  const events = makeEvents(log, () => swaps++);
  const snapshots = openSnapshots(snapshotsDir, threads.serve, events, now);
  const keys = makeKeyStore(snapshotsDir, threads.setKeys, now, count);
  const usage = makeKeyUsage(snapshotsDir, environment.PORT, keys.uses, Date.now);
  const maintenance = makeMaintenanceFile(snapshotsDir, maintenanceCell, (seconds) =>
    log.warn({ retry_after: seconds }, `maintenance has ${seconds > 0 ? 'begun' : 'ended'}`),
  );
  const warn = (fault: string) => (error: Error) => log.warn({ err: error }, fault);
  const serveOn = 'the proxy keeps serving as before';
  /** A file that cannot be read is reported, and the proxy keeps serving with what it has. */
  const polls = [
    poll(snapshots.refresh, intervals.snapshot, warn(`cannot follow the snapshot; ${serveOn}`)),
    poll(keys.refresh, intervals.keys, (error) => reportKeys(error, keys.size(), log)),
    poll(
      maintenance.refresh,
      intervals.maintenance,
      warn('cannot use the content of the file; maintenance is on'),
    ),
  ];
  const usagePoll = poll(usage.write, intervals.usage, warn(`cannot report key usage; ${serveOn}`));
  let isStopping = false;
  const admin = makeProxyAdmin({
    snapshots,
    keys,
    threads: starts,
    swaps: () => swaps,
    dropped: accessLog.dropped,
    faults: () => [
      ...[...polls, usagePoll].flatMap((each) => each.fault() ?? []),
      ...accessLog.faults(),
    ],
  });
  return {
    accessLog,
    isStopping: () => isStopping,
    refresh: async () => void (await Promise.all(polls.map((each) => each.now()))),
    async start() {
      await Promise.all(polls.map((each) => each.start()));
      await usagePoll.start();
      const ofAdmin = await admin.listen();
      const { address, port } = await threads.listen(environment.PORT);
      return { api: `${address}:${port}`, admin: ofAdmin };
    },
    async stop(pause = () => sleep(NOTICE_MS)) {
      isStopping = true;
      admin.announceEnd();
      await threads.announceEnd();
      await pause();
      for (const each of polls) void each.stop();
      snapshots.stop();
      await threads.close();
      changes.close();
      snapshots.close();
      await usagePoll.finish();
      await accessLog.close();
      admin.close();
    },
  };
}

/** @param known how many keys are known; undefined before the file was first read */
function reportKeys(error: Error, known: number | undefined, log: Logger): void {
  // A state, not a fault: `schedule` has not exported any keys yet.
  if (known === undefined && Object(error.cause).code === 'ENOENT') {
    log.info(`${error.message} Requests with a key get 503.`);
    return;
  }
  const next =
    known === undefined ? 'requests with a key get 503' : 'the last known keys stay valid';
  log.warn({ err: error }, `cannot read the keys; ${next}`);
}

/** @param countSwap called after each switch to a generation */
function makeEvents(log: Logger, countSwap: () => void): SnapshotEvents {
  return {
    swapped(manifest, milliseconds) {
      const { id, counts } = manifest;
      countSwap();
      log.info({ snapshot: id, ...counts, milliseconds }, 'serving a generation');
      if (manifest.minisearch_options !== MINISEARCH_OPTIONS_HASH) {
        log.warn(
          { snapshot: id, node: process.version, unicode: process.versions.unicode },
          'the generator splits titles into words by other rules (another version of Node?): searches may miss titles',
        );
      }
      const otherCollation = findOtherCollation(manifest);
      if (otherCollation !== undefined) log.warn({ snapshot: id }, otherCollation);
    },
    refused(id, error) {
      log.error({ snapshot: id, err: error }, 'refused a generation');
    },
  };
}
