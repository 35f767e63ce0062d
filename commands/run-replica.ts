/**
 * `cover-catalogue replica`: keeps a snapshots folder equal to a remote store, until SIGTERM or SIGINT.
 * With `--once` it checks once: progress goes to stderr, the result to stdout.
 */
import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Logger } from 'pino';
import { openKeysStore } from '../depot/keys/open-keys-store.ts';
import { megabytes, type PullReport } from '../depot/pull/pull.ts';
import { makeRateLimit, unlimited } from '../depot/pull/rate-limit.ts';
import { checkPushAddress } from '../depot/push/configured-push.ts';
import { pushChanges } from '../depot/push/push-changes.ts';
import { PUSH_CHECKS, PUSH_VARIABLES } from '../depot/push/push-variables.ts';
import { startPush } from '../depot/push/start-push.ts';
import { openLater } from '../depot/remote/open-later.ts';
import type { Followed } from '../depot/replica/follow-snapshot.ts';
import { makeReplica, type Replica } from '../depot/replica/replica.ts';
import { checkReplicaName } from '../depot/replica/replica-name.ts';
import { readVerifyingKeys } from '../depot/signatures/configured-keys.ts';
import { systemClock } from '../depot/transfer/clock.ts';
import { addDiskMetrics } from '../generations/disk-metrics.ts';
import { makeProgramAdmin, type ProgramAdmin } from '../program/admin/program-admin.ts';
import { readArguments } from '../program/arguments.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { reportFailure } from '../program/failure.ts';
import type { Invocation } from '../program/invocation.ts';
import { makeLog } from '../program/log.ts';
import { poll } from '../program/poll.ts';
import { makeProgress, type Progress } from '../program/progress.ts';
import { reportReady, type stopWith as stopWithSignal } from '../program/service.ts';
import { readNumber } from './read-number.ts';
import { addReplicaMetrics } from './replica-metrics.ts';
import { reportProgress } from './report-progress.ts';

const USAGE = `cover-catalogue replica [--from ADDRESS] [--to FOLDER] [--once]
                        [--interval SECONDS] [--parallel N]
                        [--limit-rate MEGABYTES] [--timeout SECONDS]

Keeps FOLDER equal to the newest generation that was pushed to ADDRESS, and its
keys.json equal to the keys in KEYS_STORE, until SIGTERM or SIGINT. It fetches
only the files that FOLDER lacks. It keeps running while the store is down, and
never goes back to an older generation or older keys.

  --from ADDRESS     a folder, s3://bucket/prefix, or the http or https address
                     of a web server (default: the variable REPLICA_FROM)
  --to FOLDER        the snapshots folder (default: the variable SNAPSHOTS_DIR)
  --once             check once and exit
  --interval N       seconds from one check to the next (default 1)
  --parallel N       how many files to fetch at the same time (default 4, at most 16)
  --limit-rate N     fetch at most N megabytes per second
  --timeout SECONDS  repeat a transfer without progress after this time (default 30)

If SNAPSHOT_PUBLIC_KEYS is set, it accepts only snapshots and keys that are
signed with one of these keys. Without --once, it serves health checks and
metrics on ADMIN_HOST, at the port ADMIN_PORT + 7.

Exit codes: 0 stopped or, with --once, equal to the store; 1 failed, 2 wrong
usage or configuration, 3 refused to publish or held, 4 another run is under way.
`;

const OPTIONS = {
  from: { type: 'string' },
  to: { type: 'string' },
  once: { type: 'boolean' },
  interval: { type: 'string' },
  parallel: { type: 'string' },
  'limit-rate': { type: 'string' },
  timeout: { type: 'string' },
} as const;
const VARIABLES = [
  'REPLICA_FROM',
  'REPLICA_NAME',
  'KEYS_STORE',
  ...PUSH_VARIABLES,
  'ADMIN_HOST',
  'ADMIN_PORT',
  'LOG_LEVEL',
] as const;

const MOST_PARALLEL = 16;
const LONGEST_SECONDS = 3_600;
const FASTEST_MEGABYTES = 100_000;
const USAGE_INTERVAL_MS = 5_000;

type StopWith = typeof stopWithSignal;

/**
 * @param stopWith sets what a signal ends
 * @returns the exit code; undefined if the replica continues until a signal
 */
export async function runReplica(
  invocation: Invocation,
  stopWith: StopWith,
): Promise<number | undefined> {
  const progress = makeProgress(invocation.stderr);
  try {
    return (await replicate(invocation, progress, stopWith)) ? undefined : 0;
  } catch (error) {
    progress.end();
    return reportFailure(error as Error, '', invocation.stderr);
  }
}

/** @returns whether it continues */
async function replicate(
  { words, variables: readVariables, stdout }: Invocation,
  progress: Progress,
  stopWith: StopWith,
): Promise<boolean> {
  const values = readArguments(USAGE, OPTIONS, words);
  const environmentOnly = readVariables();
  const variables =
    values.to === undefined ? environmentOnly : { ...environmentOnly, SNAPSHOTS_DIR: values.to };
  const environment = readEnvironment(VARIABLES, variables, {
    ...PUSH_CHECKS,
    REPLICA_NAME: checkReplicaName,
  });
  const { SNAPSHOTS_DIR: snapshotsDir, SNAPSHOT_PUSH } = environment;
  const from = values.from ?? environment.REPLICA_FROM;
  if (from === '') {
    throw new ConfigurationError(`Neither --from nor REPLICA_FROM is set.\n\n${USAGE}`);
  }
  checkPushAddress(SNAPSHOT_PUSH);
  const interval = readNumber('--interval', values.interval, 1, LONGEST_SECONDS);
  const rate = readNumber('--limit-rate', values['limit-rate'], undefined, FASTEST_MEGABYTES);
  const stallSeconds = readNumber('--timeout', values.timeout, 30, LONGEST_SECONDS);
  const parallel = readNumber('--parallel', values.parallel, 4, MOST_PARALLEL);
  const keysStore = openKeysStore(
    environment.KEYS_STORE,
    { SNAPSHOT_PUSH, 'the snapshot store': from },
    { stallSeconds, environment: variables },
  );
  const name = environment.REPLICA_NAME || defaultName(snapshotsDir);
  const log = makeLog(environment.LOG_LEVEL);
  const replica = makeReplica({
    snapshotsDir,
    parallel,
    clock: systemClock,
    remote: openLater(from, { stallSeconds, environment: variables }),
    keys: keysStore && { store: keysStore, name },
    publicKeys: readVerifyingKeys(environment.SNAPSHOT_PUBLIC_KEYS),
    limit: rate === undefined ? unlimited : makeRateLimit(rate * 1e6, systemClock),
    report: values.once ? reportProgress(progress) : reportToLog(progress, log),
  });
  if (values.once) {
    stopWith(async (signal) => process.exit(signal === 'SIGINT' ? 130 : 143));
    await runOnce(replica, progress, stdout);
    if (SNAPSHOT_PUSH !== '') await pushOnce(variables);
    return false;
  }
  const admin = makeProgramAdmin({
    program: 'replica',
    settings: environment,
    refresh: () => readDisk(),
  });
  const readDisk = addDiskMetrics(admin.registry, snapshotsDir);
  const address = await admin.listen();
  if (SNAPSHOT_PUSH !== '') pushChanges(snapshotsDir, { ...variables }, admin.tasks, log);
  run(replica, interval * 1000, admin, progress, log, stopWith);
  const stores = { from, keys: keysStore?.name, push: SNAPSHOT_PUSH };
  log.info({ ...stores, snapshotsDir, admin: address }, 'replicating');
  reportReady(log);
  return true;
}

/** On a terminal, the progress is shown between the lines of the log. */
function reportToLog(progress: Progress, log: Logger): PullReport {
  return {
    advance: process.stderr.isTTY ? reportProgress(progress).advance : () => {},
    step: (text) => log.debug(text),
    warn: (text) => log.warn(text),
  };
}

/** Keys come first: they take a moment, and a revoked key must stop working. */
async function runOnce(
  replica: Replica,
  progress: Progress,
  stdout: Invocation['stdout'],
): Promise<void> {
  const started = performance.now();
  // A snapshot is pulled even if there are no keys, and the other way round.
  const [keys, followed] = [
    await settle(replica.checkKeys()),
    await settle(replica.checkSnapshot()),
  ];
  const usage = await settle(replica.sendUsage());
  progress.end();
  if (followed.status === 'fulfilled') {
    stdout.write(asText(followed.value, (performance.now() - started) / 1000));
  }
  for (const each of [followed, keys, usage]) if (each.status === 'rejected') throw each.reason;
}

async function pushOnce(variables: NodeJS.ProcessEnv): Promise<void> {
  const { result, messages } = await startPush({ ...variables }).ended;
  if (result === undefined) throw new Error(`Nothing was pushed: ${messages}`);
}

async function settle<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [result] = await Promise.allSettled([work]);
  return result;
}

function run(
  replica: Replica,
  intervalMs: number,
  { registry, tasks, announceEnd }: ProgramAdmin,
  progress: Progress,
  log: Logger,
  stopWith: StopWith,
): void {
  const countCheck = addReplicaMetrics(registry);
  const checkSnapshot = async () => {
    const started = performance.now();
    const followed = await replica.checkSnapshot();
    countCheck(followed, (performance.now() - started) / 1000);
    const { pointer, pulled, received } = followed;
    progress.end();
    if (pulled === undefined) return;
    const { fetched, linked } = pulled;
    const { id, published_at } = pointer;
    log.info({ snapshot: id, published_at, fetched, linked, received }, 'published a generation');
  };
  const checkKeys = async () => {
    if (await replica.checkKeys()) log.info('the keys have changed');
  };
  const polls = [
    pollPart('snapshot', tasks.observe('check_snapshot', checkSnapshot), intervalMs, log),
    pollPart('keys', tasks.observe('check_keys', checkKeys), intervalMs, log),
    pollPart(
      'key usage',
      tasks.observe('send_key_usage', replica.sendUsage),
      USAGE_INTERVAL_MS,
      log,
    ),
  ];
  // Does not wait for what is under way: what it has fetched stays for the next start.
  stopWith(async (signal) => {
    announceEnd();
    for (const each of polls) void each.stop();
    log.info({ signal }, 'stopping');
  });
  for (const each of polls) void each.start();
}

function pollPart(part: string, work: () => Promise<unknown>, intervalMs: number, log: Logger) {
  let isFailing = false;
  const workAndLog = async () => {
    await work();
    if (isFailing) log.info({ part }, 'the replica is equal to its store again');
    isFailing = false;
  };
  return poll(workAndLog, intervalMs, ({ message }) => {
    isFailing = true;
    log.error({ part }, `${message.replace(/\.?$/, '.')} What is there stays in service.`);
  });
}

/** Several replicas on one machine have different folders. */
function defaultName(snapshotsDir: string): string {
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^\.+/, '');
  return `${host.slice(0, 60)}-${hash('sha256', path.resolve(snapshotsDir)).slice(0, 8)}`;
}

function asText({ pointer, pulled, received }: Followed, seconds: number): string {
  if (pulled === undefined) return `Nothing is newer than ${pointer.id}, which stays current.\n`;
  const { manifest, fetched, linked } = pulled;
  const { id, counts } = manifest;
  return `Published ${id}: ${counts.games} games, ${counts.covers} covers; ${fetched} files fetched with ${megabytes(received)} MB, ${linked} were here; ${seconds.toFixed(1)} s.\n`;
}
