/**
 * Creates the parts of a proxy from its environment and connects them: the first serving thread, the
 * workers, the admin server, and the polling of files in `SNAPSHOTS_DIR`. Nothing listens yet.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { MINISEARCH_OPTIONS_HASH } from '../format/index/minisearch-hash.ts';
import { keyUsageFile } from '../format/layout.ts';
import { findOtherCollation } from '../format/manifest.ts';
import { addConnectionMetrics } from '../program/admin/metrics.ts';
import { mostConnections, newConnectionCells } from '../program/connections.ts';
import type { Environment } from '../program/environment/environment.ts';
import { type LogFile, openLogFile } from './access-log/log-file.ts';
import { newDropCount } from './access-log/thread-lines.ts';
import { makeProxyAdmin } from './admin/admin.ts';
import { addLimitMetrics, type LimitState, readLimitState } from './admin/limit-state.ts';
import { type Metrics, makeMetrics } from './admin/metrics.ts';
import { addAccessLogMetrics } from './admin/request-metrics.ts';
import { makeRequestCounts, newRequestCounts } from './api/request-counts.ts';
import { type ChangeEvents, type Changes, makeChanges } from './changes/changes.ts';
import { makeVisitorLimits } from './explore/explorer.ts';
import { makeKeyStore } from './keys/key-store.ts';
import { makeAddressLimits } from './limits/address-limits.ts';
import { newLimitCells } from './limits/shared/counts.ts';
import { loadStoreClient } from './limits/shared/open-shared-limits.ts';
import type { StoreTimeouts } from './limits/shared/store.ts';
import { makeMaintenanceFile, newMaintenanceCell } from './maintenance.ts';
import { INTERVALS, type Intervals, makePolling, type Polling } from './polling.ts';
import { openSite } from './site/site.ts';
import { openSnapshots, type SnapshotEvents, type Snapshots } from './snapshot/snapshots.ts';
import { makeInstanceFiles } from './state/instance-files.ts';
import { makeKeyUsage } from './state/key-usage.ts';
import { makeServing, now, SERVING_VARIABLES, type Serving } from './workers/serving.ts';
import { startWorkers, type WorkerPool } from './workers/worker-pool.ts';

export const VARIABLES = [
  'HOST',
  'PORT',
  'PROXY_THREADS',
  'ADMIN_HOST',
  'ADMIN_PORT',
  ...SERVING_VARIABLES,
  // The guides mention them.
  'DEFAULT_RATE_LIMIT',
  // After ACCESS_LOG: without a log, its file is not checked.
  'ACCESS_LOG_FILE',
] as const;

export type ProxyEnvironment = Environment<(typeof VARIABLES)[number]>;

export interface ProxyParts {
  readonly serving: Serving;
  readonly workers: WorkerPool;
  readonly snapshots: Snapshots;
  readonly changes: Changes;
  readonly admin: Server;
  readonly accessLog: LogFile;
  readonly polling: Polling;
  readonly state: { isStopping: boolean };
}

/** What tests replace. */
export interface Surroundings {
  readonly intervals?: Intervals;
  /** The variables from which the environment was read: the workers read them, too. */
  readonly variables?: NodeJS.ProcessEnv;
  readonly storeTimeouts?: StoreTimeouts;
}

export async function assemble(
  environment: ProxyEnvironment,
  log: Logger,
  { intervals = INTERVALS, variables = process.env, storeTimeouts }: Surroundings = {},
): Promise<ProxyParts> {
  const { SNAPSHOTS_DIR: snapshotsDir, PROXY_THREADS: threads, PORT: port } = environment;
  const cells = newCells(threads);
  const [firstCells] = cells;
  const metrics = makeMetrics(cells.map(({ counts }) => counts));
  const connections = cells.map((cell) => cell.connections);
  addConnectionMetrics(metrics.registry, 'api', connections);
  const dropped = cells.map(({ droppedLines }) => droppedLines);
  const accessLog = openAccessLog(environment, dropped, metrics.registry, log);
  const addresses = makeAddressLimits(environment.ADDRESS_RATE_LIMIT);
  const files = makeInstanceFiles(snapshotsDir);
  const events = makeEvents(metrics, log);
  const snapshots = openSnapshots(snapshotsDir, events, now);
  const changes = makeChanges(snapshotsDir, makeChangeEvents(metrics, log));
  const onFailure = (error: Error) => {
    log.fatal({ err: error }, 'a worker thread failed');
    process.exit(1);
  };
  const common = { ...makeCommonParts(environment), storeTimeouts };
  const workers = startWorkers(
    cells.slice(1).map((each) => ({ ...each, ...common, addresses: addresses.memory })),
    { snapshots, readChanges: changes.read, handOnLines: accessLog.handOn, onFailure },
    variables,
  );
  const keys = makeKeyStore(snapshotsDir, workers.announceKeys, now, threads);
  const serving = makeServing({
    snapshots,
    readChanges: changes.read,
    keys,
    addresses,
    environment,
    log,
    ...firstCells,
    ...common,
    connectToStore: await loadStoreClient(environment.LIMITS_URL),
    handOnLines: accessLog.handOn,
    counts: makeRequestCounts(firstCells.counts),
  });
  const limitState = (): LimitState | undefined =>
    readLimitState(
      environment.LIMITS_FAILURE,
      serving.limits,
      cells.map(({ limitCells }) => limitCells),
    );
  if (serving.limits !== undefined) addLimitMetrics(metrics.registry, limitState);
  const usage = makeKeyUsage(files, keyUsageFile(port), keys, now, Date.now);
  const maintenance = makeMaintenanceFile(snapshotsDir, common.maintenance, (seconds) =>
    log.warn({ retry_after: seconds }, `maintenance has ${seconds > 0 ? 'begun' : 'ended'}`),
  );
  const polling = makePolling({ snapshots, keys, usage, maintenance }, intervals, log);
  const state = { isStopping: false };
  const admin = makeProxyAdmin({
    snapshotsDir,
    snapshots,
    keys,
    metrics,
    limitState,
    maintenance: () => common.maintenance[0] ?? 0,
    isStopping: () => state.isStopping,
    faults: () => [...polling.faults(), ...accessLog.faults()],
  });
  return {
    serving,
    workers,
    snapshots,
    changes,
    admin,
    accessLog,
    polling,
    state,
  };
}

/** For each serving thread, the memory for its counts, which the first thread reads. */
function newCells(threads: number) {
  return Array.from({ length: threads }, () => ({
    counts: newRequestCounts(),
    connections: newConnectionCells(Math.floor(mostConnections() / threads)),
    limitCells: newLimitCells(),
    droppedLines: newDropCount(),
  }));
}

/** What all serving threads have in common. */
function makeCommonParts(environment: ProxyEnvironment) {
  return {
    proxy: randomBytes(8).toString('hex'),
    maintenance: newMaintenanceCell(),
    visitors: makeVisitorLimits().memory,
    sitePages: openSite({
      publicUrl: environment.PUBLIC_URL,
      defaultLimit: environment.DEFAULT_RATE_LIMIT,
    }),
  };
}

/** @param dropped from each serving thread, how many lines it has dropped */
function openAccessLog(
  { ACCESS_LOG: sample, ACCESS_LOG_FILE: file }: ProxyEnvironment,
  dropped: readonly Float64Array[],
  registry: Registry,
  log: Logger,
): LogFile {
  const droppedByThreads = () => dropped.reduce((sum, [count]) => sum + count, 0);
  // Without a log, nothing is written, and the file is left alone.
  const accessLog = openLogFile(sample === 0 ? '' : file, droppedByThreads, log);
  addAccessLogMetrics(registry, () => {
    const { written, dropped } = accessLog.lines();
    return { written, dropped: dropped + droppedByThreads() };
  });
  return accessLog;
}

function makeEvents(metrics: Metrics, log: Logger): SnapshotEvents {
  return {
    swapped({ id, manifest }, milliseconds) {
      metrics.countSwap(milliseconds);
      log.info({ snapshot: id, ...manifest.counts, milliseconds }, 'serving a generation');
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

function makeChangeEvents(metrics: Metrics, log: Logger): ChangeEvents {
  // A difference stays damaged, and clients may ask for it again and again.
  const logged = new Set<string>();
  return {
    joined({ outcome, message, milliseconds }) {
      metrics.countJoin(outcome, milliseconds);
      if (message === undefined || logged.has(message)) return;
      logged.add(message);
      log.error(`${message} Clients that need it get 410 and read the catalogue again.`);
    },
    failed(error) {
      metrics.countJoin('failed', 0);
      log.error({ err: error }, 'cannot join differences');
    },
  };
}
