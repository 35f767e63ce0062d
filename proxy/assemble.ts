/**
 * Creates the parts of a proxy from its environment and connects them: the serving threads, and what the
 * first thread does for them: it polls the files in `SNAPSHOTS_DIR`, reports key usage, and answers the
 * admin address.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { poll } from '../lib/program/poll.ts';
import { makeKeyStore } from './admit/keys/key-store.ts';
import { makeUsageReport } from './admit/keys/report-key-usage.ts';
import { now } from './admit/limits/rolling-window.ts';
import { makeProxyAdmin } from './serve/admin/admin.ts';
import { makeMaintenance } from './serve/maintenance.ts';
import type { ProxyEnvironment } from './serve/workers/serving-thread.ts';
import { type Composition, startServingThreads } from './serve/workers/serving-threads.ts';
import { Snapshots } from './snapshot/snapshots.ts';

/** How long load balancers have to notice that this proxy is not ready before it stops listening. */
const NOTICE_MS = 500;

/** How often a proxy polls, in milliseconds. */
const INTERVALS = {
  /** Each poll reads one symbolic link. */
  snapshot: 100,
  /** Each poll reads the modification time. An owner of a new key waits for it. */
  keys: 200,
  maintenance: 1_000,
  usage: 60_000,
};

const SNAPSHOT_FAULT = 'cannot read the current snapshot; the proxy keeps serving as before';
const MAINTENANCE_FAULT = 'cannot use the content of the file; maintenance is on';
const USAGE_FAULT = 'cannot report key usage; the proxy keeps serving as before';

export type Intervals = typeof INTERVALS;

/** What tests replace. */
export interface Overrides {
  readonly intervals?: Intervals;
  /** How long Redis may take to answer. */
  readonly redisTimeoutMs?: number;
}

export async function assembleProxy(
  environment: ProxyEnvironment,
  log: Logger,
  composition: Composition,
  { intervals = INTERVALS, redisTimeoutMs }: Overrides = {},
) {
  const { SNAPSHOTS_DIR: snapshotsDir } = environment;
  const threads = await startServingThreads(environment, composition, redisTimeoutMs, log);
  const snapshots = new Snapshots(snapshotsDir, (files) => threads.all('serve', files), log, now);
  const keys = makeKeyStore(snapshotsDir, (all) => threads.all('setKeys', all), now);
  const { PORT: port } = environment;
  const usage = makeUsageReport(snapshotsDir, port, () => threads.all('takeUsage'), Date.now);
  const setMaintenance = (seconds: number) => threads.all('setMaintenance', seconds);
  const maintenance = makeMaintenance(snapshotsDir, setMaintenance, log);
  // What cannot be read or written is reported, and the proxy keeps serving with what it has.
  const warn = (fault: string) => (error: Error) => log.warn({ err: error }, fault);
  const keysPoll = poll(keys.refresh, intervals.keys, (error) =>
    reportKeys(error, keys.size(), log),
  );
  const polls = [
    poll(() => snapshots.refresh(), intervals.snapshot, warn(SNAPSHOT_FAULT)),
    keysPoll,
    poll(maintenance.refresh, intervals.maintenance, warn(MAINTENANCE_FAULT)),
  ];
  const usagePoll = poll(usage.write, intervals.usage, warn(USAGE_FAULT));
  let isStopping = false;
  const admin = makeProxyAdmin({
    environment,
    snapshots,
    keys,
    keysFault: keysPoll.fault,
    maintenance,
    threads: await threads.all('counts'),
    faults: () => [...polls, usagePoll].flatMap((each) => each.fault() ?? []),
  });
  return {
    isStopping: () => isStopping,
    /** Reads each file now. Resolves when all threads serve what they say. */
    refresh: async () => void (await Promise.all(polls.map((each) => each.run()))),
    /** Reads each file for the first time, then listens. @returns the addresses, such as 127.0.0.1:8080 */
    async start() {
      await Promise.all(polls.map((each) => each.run()));
      await usagePoll.run();
      const ofAdmin = await admin.listen();
      return { api: await threads.listen(), admin: ofAdmin };
    },
    /**
     * Lets the requests under way finish, and ends all threads.
     * @param pause waits until load balancers have noticed
     */
    async stop(pause: () => Promise<unknown> = () => sleep(NOTICE_MS)) {
      isStopping = true;
      admin.announceEnd();
      await threads.all('announceEnd');
      await pause();
      for (const each of polls) void each.stop();
      snapshots.stop();
      await threads.all('close');
      snapshots.close();
      await usagePoll.finish();
      await threads.end();
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
