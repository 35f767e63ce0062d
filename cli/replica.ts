/**
 * `cover-catalogue replica`: keeps a snapshots folder equal to a depot, until SIGTERM or SIGINT. With
 * `--once` it checks once: progress goes to stderr, the result to stdout.
 */
import type { Logger } from 'pino';
import { Counter, Gauge } from 'prom-client';
import { RefusedReleaseError } from '../depot/depot.ts';
import { isApiAddress, openDepot, openKeysDepot } from '../depot/open.ts';
import type { Pulled } from '../depot/pull.ts';
import {
  makeReplica,
  makeSnapshotPuller,
  type PulledSnapshot,
  type Replica,
} from '../depot/replica.ts';
import { readSignerKeys } from '../depot/signing.ts';
import { type Clock, megabytes, systemClock } from '../depot/transfers.ts';
import { checkFind } from '../find/check.ts';
import type { Release } from '../lib/format/release.ts';
import { addDiskMetrics } from '../lib/generations/disk-metrics.ts';
import { makeProgramAdmin, type ProgramAdmin } from '../lib/program/admin/program-admin.ts';
import { readArguments, readValue } from '../lib/program/arguments.ts';
import { makeHelper } from '../lib/program/calls.ts';
import { ConfigurationError, readEnvironment } from '../lib/program/environment/environment.ts';
import { wholeNumber } from '../lib/program/environment/values.ts';
import { makeCommand } from '../lib/program/failure.ts';
import { checkWritableFolder } from '../lib/program/folders.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { makeLog } from '../lib/program/log.ts';
import { poll } from '../lib/program/poll.ts';
import { counted } from '../lib/program/printable.ts';
import { logProgress, makeProgress, type Progress } from '../lib/program/progress.ts';
import { reportReady, type StopWith, stopWith as stopOnSignal } from '../lib/program/service.ts';
import type { ReplicaThread, ReplicaThreadData } from './replica-thread.ts';

const USAGE = `cover-catalogue replica [--from DEPOT] [--key-file FILE] [--once]
                        [--interval SECONDS]

Keeps SNAPSHOTS_DIR equal to the newest generation in a depot, and its keys.json
equal to the keys in KEYS_DEPOT, until SIGTERM or SIGINT. It fetches only the
files that are not there yet. It keeps running while the depot is down, and never
goes back to an older generation or older keys.

  --from DEPOT       a folder, s3://bucket/prefix, the http or https address of
                     a web server, or of another installation's API, such as
                     https://api.example.org/api/v1/snapshot
                     (default: the variable REPLICA_FROM)
  --key-file FILE    a file with an API key, for another installation's API
  --once             check once and exit
  --interval SECONDS from one check to the next (default 1; for an API, where
                     each check is a request, 60)

If SNAPSHOT_PUBLIC_KEYS is set, it accepts only snapshots and keys that are
signed with one of these keys. Without --once, it serves health checks and
metrics on ADMIN_HOST, at the port ADMIN_PORT + 7.

Exit codes: 0 stopped or, with --once, equal to the depot; 1 failed, 2 wrong
usage or configuration, 3 refused to publish or held, 4 another run is under way.
`;

const VARIABLES = [
  'SNAPSHOTS_DIR',
  'REPLICA_FROM',
  'KEYS_DEPOT',
  'SNAPSHOT_PUBLIC_KEYS',
  'ADMIN_HOST',
  'ADMIN_PORT',
  'LOG_LEVEL',
] as const;

const LONGEST_SECONDS = 3_600;

/**
 * @param stopWith sets what a signal ends
 * @returns the exit code; undefined if the replica continues until a signal
 */
export function runReplica(
  invocation: Invocation,
  stopWith: StopWith = stopOnSignal,
  clock = systemClock,
): Promise<number | undefined> {
  const progress = makeProgress(invocation.stderr);
  const work = () => start(invocation, progress, stopWith, clock).finally(progress.end);
  return makeCommand(work)(invocation);
}

async function start(
  { words, variables, stdout }: Invocation,
  progress: Progress,
  stopWith: StopWith,
  clock: Clock,
): Promise<number | undefined> {
  const { texts, switches } = readArguments(USAGE, words);
  const environment = variables();
  const settings = readEnvironment(VARIABLES, environment, {
    SNAPSHOTS_DIR: checkWritableFolder,
    SNAPSHOT_PUBLIC_KEYS: readSignerKeys,
  });
  const { SNAPSHOTS_DIR: snapshotsDir, LOG_LEVEL } = settings;
  const from = texts.from ?? settings.REPLICA_FROM;
  if (from === '') {
    throw new ConfigurationError(`Neither --from nor REPLICA_FROM is set.\n\n${USAGE}`);
  }
  const { interval = isApiAddress(from) ? '60' : '1' } = texts;
  const seconds = readValue('--interval', interval, wholeNumber(1, LONGEST_SECONDS));
  const keyFile = texts['key-file'];
  const depot = openDepot(from, { environment, keyFile });
  const others = { 'the depot of snapshots': from };
  const keysDepot = openKeysDepot(settings.KEYS_DEPOT, others, { environment });
  const log = makeLog(LOG_LEVEL);
  const isOnce = switches.has('once');
  const publicKeys = readSignerKeys(settings.SNAPSHOT_PUBLIC_KEYS);
  const report = isOnce ? progress : logProgress(log);
  const options = { snapshotsDir, publicKeys, report, clock, checkFind };
  const pullSnapshot = isOnce
    ? makeSnapshotPuller(depot, options)
    : pullInThread({
        snapshotsDir,
        logLevel: LOG_LEVEL,
        publicKeys,
        from,
        keyFile,
        environment: { ...environment },
      });
  const replica = makeReplica({ ...options, from: depot.name, pullSnapshot, keysDepot });
  if (isOnce) {
    stopWith(async (signal) => process.exit(signal === 'SIGINT' ? 130 : 143));
    await runOnce(replica, progress, stdout).finally(() => {
      depot.close();
      keysDepot?.close();
    });
    return 0;
  }
  const admin = makeProgramAdmin({ program: 'replica', settings, refresh: () => readDisk() });
  const readDisk = addDiskMetrics(admin.registry, snapshotsDir);
  const address = await admin.listen();
  run(replica, seconds * 1000, admin, log, stopWith);
  const places = { from: depot.name, keys: keysDepot?.name, snapshotsDir, admin: address };
  log.info(places, 'replicating');
  reportReady(log);
  return undefined;
}

/** @returns as {@link makeSnapshotPuller}: what a generation contains never holds up the keys */
function pullInThread(workerData: ReplicaThreadData): () => Promise<PulledSnapshot> {
  const program = new URL('./replica-thread.ts', import.meta.url);
  const thread = makeHelper<ReplicaThread>(program, { workerData });
  return async () => {
    const result = await thread.call('pull');
    if ('refused' in result) throw new RefusedReleaseError(result.refused);
    return result;
  };
}

async function runOnce(replica: Replica, progress: Progress, stdout: Invocation['stdout']) {
  const started = performance.now();
  // Keys come first: they take a moment, and a revoked key must stop working. A snapshot is pulled even if
  // there are no keys, and the other way round.
  const [keys] = await Promise.allSettled([replica.checkKeys()]);
  const [checked] = await Promise.allSettled([replica.checkSnapshot()]);
  progress.end();
  if (checked.status === 'fulfilled') {
    const { release, pulled } = checked.value;
    stdout.write(asText(release, pulled, (performance.now() - started) / 1000));
  }
  for (const each of [checked, keys]) if (each.status === 'rejected') throw each.reason;
}

function run(
  replica: Replica,
  intervalMs: number,
  { registry, tasks, announceEnd }: ProgramAdmin,
  log: Logger,
  stopWith: StopWith,
): void {
  const pullSeconds = new Gauge({
    name: 'replica_pull_seconds',
    help: 'How long the last pull took, with its verification',
    registers: [registry],
  });
  const receivedBytes = new Counter({
    name: 'replica_received_bytes_total',
    help: 'Bytes received for the generations that were pulled',
    registers: [registry],
  });
  const checkSnapshot = async () => {
    const started = performance.now();
    const { release, pulled } = await replica.checkSnapshot();
    if (pulled === undefined) return;
    const { fetched, linked, received } = pulled;
    pullSeconds.set((performance.now() - started) / 1000);
    receivedBytes.inc(received);
    const { id: snapshot, released_at } = release;
    log.info({ snapshot, released_at, fetched, linked, received }, 'published a generation');
  };
  const checkKeys = async () => {
    if (await replica.checkKeys()) log.info('the keys have changed');
  };
  const pollPart = (part: string, task: string, work: () => Promise<unknown>, ms: number) => {
    const observed = tasks.observe(task, work);
    const workAndLog = async () => {
      await observed();
      if (polled.fault()) log.info({ part }, 'the replica is equal to its depot again');
    };
    const polled = poll(workAndLog, ms, ({ message }) =>
      log.error({ part }, `${message.replace(/\.?$/, '.')} What is there stays in service.`),
    );
    return polled;
  };
  const polls = [
    pollPart('snapshot', 'check_snapshot', checkSnapshot, intervalMs),
    pollPart('keys', 'check_keys', checkKeys, intervalMs),
  ];
  // Does not wait for what is under way: the files that it has fetched stay for the next start.
  stopWith(async (signal) => {
    announceEnd();
    for (const each of polls) void each.stop();
    log.info({ signal }, 'stopping');
  });
  for (const each of polls) void each.run();
}

function asText({ id }: Release, pulled: Pulled | undefined, seconds: number): string {
  if (pulled === undefined) return `Nothing is newer than ${id}, which stays current.\n`;
  const { manifest, fetched, linked, received } = pulled;
  const { games, covers } = manifest.counts;
  return `Published ${id}: ${counted(games, 'game')}, ${counted(covers, 'cover')}; ${counted(fetched, 'file')} fetched with ${megabytes(received)} MB, ${linked} were here; ${seconds.toFixed(1)} s.\n`;
}
