/**
 * `cover-catalogue schedule`: what it does is in its usage. One run at a time, and none while publishing is
 * held; keys are exported even then. Each run is a process of its own: its memory is freed when it ends,
 * and if it crashes, the schedule continues.
 */
import type { Logger } from 'pino';
import { openKeysDepot, openWritableDepot } from '../depot/open.ts';
import { pushChanges } from '../depot/push.ts';
import { PUSH_CHECKS, PUSH_VARIABLES } from '../depot/signing.ts';
import { SETTING_VARIABLES } from '../generator/rows/settings.ts';
import { checkCron, NO_RUNS, startAt } from '../generator/schedule/cron.ts';
import { paceRuns } from '../generator/schedule/pace-runs.ts';
import { pollChanges } from '../generator/schedule/poll-changes.ts';
import { Runs } from '../generator/schedule/runs.ts';
import { addScheduleMetrics } from '../generator/schedule/schedule-metrics.ts';
import { KeysPolls } from '../keys/export/poll-keys.ts';
import { checkDatabaseUrl } from '../lib/database/open.ts';
import { addDiskMetrics } from '../lib/generations/disk-metrics.ts';
import { currentId } from '../lib/generations/generations.ts';
import { whyHeld } from '../lib/generations/hold.ts';
import { KEEP_VARIABLES } from '../lib/generations/prune.ts';
import { makeProgramAdmin } from '../lib/program/admin/program-admin.ts';
import type { Tasks } from '../lib/program/admin/tasks.ts';
import { readArguments } from '../lib/program/arguments.ts';
import { makeHelper } from '../lib/program/calls.ts';
import { type Environment, readEnvironment } from '../lib/program/environment/environment.ts';
import { makeCommand } from '../lib/program/failure.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { makeLog } from '../lib/program/log.ts';
import { reportReady, stopWith } from '../lib/program/service.ts';
import type { OriginThread, OriginThreadData } from './origin-thread.ts';

const USAGE = `cover-catalogue schedule

Generates at the times of GENERATE_CRON, exports the API keys every two seconds
(with KEYS_DEPOT, every second) and imports key usage, until SIGTERM or SIGINT.
If GENERATE_CRON is "off", it starts no runs and does not poll for changes, which
is what a replica needs. It still exports keys, imports key usage and pushes.

If the tables have updated_at, it also polls the database for changes every
CHANGE_POLL_SECONDS, and more often if they have indexes on it. It publishes
changes at most every ten seconds; removed games and covers do not wait.

If SNAPSHOT_PUSH is set, it pushes each new current generation to that depot. It
serves health checks and metrics on ADMIN_HOST, at the port ADMIN_PORT + 5.

Exit codes: 0 stopped, 1 failed, 2 wrong usage or configuration.
`;
/** Between the starts of two runs that publish changes; a run that removes something does not wait. */
const PUBLISH_AT_MOST_EVERY_MS = 10_000;

/** @returns the exit code if it cannot start; undefined if it keeps running */
export const runSchedule = makeCommand(start);

async function start({ words, variables: readVariables }: Invocation): Promise<undefined> {
  readArguments(USAGE, words);
  const variables = readVariables();
  const environment = readEnvironment(
    [
      'DATABASE_URL',
      ...SETTING_VARIABLES,
      ...KEEP_VARIABLES,
      'PUBLIC_URL',
      'GENERATE_CRON',
      'CHANGE_POLL_SECONDS',
      'KEYS_DEPOT',
      'LOG_LEVEL',
      'ADMIN_HOST',
      'ADMIN_PORT',
      ...PUSH_VARIABLES,
    ],
    variables,
    { ...PUSH_CHECKS, GENERATE_CRON: checkCron },
  );
  const { GENERATE_CRON: cron, SNAPSHOTS_DIR: snapshotsDir, SNAPSHOT_PUSH } = environment;
  checkDatabaseUrl(environment.DATABASE_URL);
  if (SNAPSHOT_PUSH !== '') openWritableDepot(SNAPSHOT_PUSH).close();
  const isOff = cron === NO_RUNS;
  const log = makeLog(environment.LOG_LEVEL);
  const isHeld = makeHoldWatch(snapshotsDir, log);
  const admin = makeProgramAdmin({
    program: 'schedule',
    settings: environment,
    refresh: () => readDisk(),
    readiness: () => ({ last_run: lastRun() ?? null, held: whyHeld(snapshotsDir) ?? null }),
  });
  const { registry, tasks } = admin;
  const readDisk = addDiskMetrics(registry, snapshotsDir);
  const { lastRun, noteEnding } = addScheduleMetrics(registry, snapshotsDir);
  const runs = new Runs(isHeld, noteEnding, log);
  const adminAddress = await admin.listen();
  const task = isOff ? undefined : startAt(cron, () => runs.start());
  const changes = isOff ? undefined : publishChanges(environment, runs, tasks, log);
  const keysDepot = openKeysDepot(environment.KEYS_DEPOT, { SNAPSHOT_PUSH });
  const workerData: OriginThreadData = { settings: environment, variables: { ...variables } };
  // It starts when it is first used.
  const depots = makeHelper<OriginThread>(new URL('./origin-thread.ts', import.meta.url), {
    workerData,
  });
  const keys = new KeysPolls({
    databaseUrl: environment.DATABASE_URL,
    snapshotsDir,
    replicas: keysDepot && {
      name: keysDepot.name,
      send: (keys) => depots.call('sendKeys', keys),
    },
    registry,
    tasks,
    log,
  });
  const pushes =
    SNAPSHOT_PUSH === ''
      ? undefined
      : pushChanges(snapshotsDir, () => depots.call('push'), tasks, log);
  stopWith(async (signal) => {
    log.info({ signal }, 'stopping');
    admin.announceEnd();
    await task?.stop();
    // What a push under way has sent stays for the next.
    void pushes?.stop();
    await Promise.all([changes?.stop(), runs.stop(), keys.stop()]);
    admin.close();
  });
  void pushes?.run();
  log.info({ cron, snapshotsDir, admin: adminAddress }, 'scheduled');
  reportReady(log);
  if (!isOff && currentId(snapshotsDir) === undefined) void runs.start();
  else isHeld();
}

/** Publishes changes soon after they are made, unless CHANGE_POLL_SECONDS is 0. */
function publishChanges(
  environment: Environment<'DATABASE_URL' | 'SNAPSHOTS_DIR' | 'CHANGE_POLL_SECONDS'>,
  { startNext, giveWay, isRunning }: Runs,
  tasks: Tasks,
  log: Logger,
) {
  const { DATABASE_URL: databaseUrl, CHANGE_POLL_SECONDS: seconds } = environment;
  if (seconds === 0) return undefined;
  const pace = paceRuns({
    milliseconds: PUBLISH_AT_MOST_EVERY_MS,
    run: startNext,
    giveWay,
    onFailure: (isUrgent) => changes.forget(isUrgent),
  });
  const changes = pollChanges({
    ...{ databaseUrl, snapshotsDir: environment.SNAPSHOTS_DIR, seconds, tasks, log },
    ...{ request: pace.request, isRunning },
  });
  return {
    stop() {
      pace.stop();
      return changes.stop();
    },
  };
}

/** @returns a function that tells whether publishing is held, and logs a change since its last call */
function makeHoldWatch(snapshotsDir: string, log: Logger): () => boolean {
  let lastReason: string | undefined;
  return () => {
    const reason = whyHeld(snapshotsDir);
    if (reason !== undefined && reason !== lastReason) {
      log.warn(`${reason} Until then, runs are skipped and keys are still exported.`);
    } else if (reason === undefined && lastReason !== undefined) {
      log.info('publishing was resumed');
    }
    lastReason = reason;
    return reason !== undefined;
  };
}
