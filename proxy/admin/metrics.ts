/**
 * The metrics that Prometheus scrapes. Each serving thread counts in plain arrays, and prom-client gets
 * the sums at each scrape. Incrementing a labelled prom-client counter would cost each request more time
 * than the rate limiter does.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import {
  addConnectionMetrics,
  addCounter,
  addCounters,
  addGauge,
  addGauges,
  addProcessMetrics,
} from '../../program/admin/metrics.ts';
import type { LogFile } from '../access-log/log-file.ts';
import { BUCKETS, makeRequestTotals, type RequestTotals } from '../api/request-counts.ts';
import type { Joined } from '../changes/changes.ts';
import { LIMIT_COUNTS } from '../limits/redis-limiter.ts';
import type { ThreadStart } from '../workers/serving-thread.ts';
import type { Held, ReplicaHealth } from './publishing-state.ts';

/** The values that are read at each scrape. A value that is not known (yet) is undefined. */
export interface Readings {
  readonly snapshot:
    | { readonly id: string; readonly games: number; readonly covers: number }
    | undefined;
  readonly isRefusing: boolean;
  /** Undefined unless an operator holds publishing. */
  readonly held: Held | undefined;
  /** Seconds since the generation in service last agreed with the database. */
  readonly dataAge: number | undefined;
  /** How many keys are known. */
  readonly keys: number | undefined;
  /** Seconds since the keys last agreed with the database. */
  readonly keysAge: number | undefined;
  /** Null if there is no replica in this snapshots folder. */
  readonly replica: ReplicaHealth | null;
  readonly isMaintenance: boolean;
}

export interface Metrics {
  countSwap(milliseconds: number): void;
  /** @param outcome 'failed' if the thread that joins differences failed */
  countJoin(outcome: Joined['outcome'] | 'failed', milliseconds: number): void;
  /** @returns all metrics in the exposition format, and its content type */
  expose(read: () => Promise<Readings>): Promise<{ body: string; contentType: string }>;
}

/** @param isShared whether the limits are those of several proxies */
export function makeMetrics(
  threads: readonly ThreadStart[],
  lines: LogFile['lines'],
  isShared: boolean,
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const totals = makeRequestTotals(threads.map((each) => each.requestCounts));
  let readings: Readings | undefined;

  addProcessMetrics(registry);
  addRequestMetrics(registry, totals);
  const connections = threads.map((each) => each.connections);
  addConnectionMetrics(registry, 'api', connections);
  if (isShared) {
    const counts = threads.map((each) => each.limitCounts);
    addLimitMetrics(registry, counts);
  }
  addCounter(
    registry,
    'access_log_lines_total',
    'Lines of the access log that were written',
    () => lines().written,
  );
  addCounter(
    registry,
    'access_log_dropped_total',
    'Lines of the access log that were dropped',
    () => lines().dropped,
  );
  const swaps = new Counter({
    name: 'snapshot_swaps_total',
    help: 'Generations that came into service',
    registers,
  });
  const opening = new Gauge({
    name: 'snapshot_open_seconds',
    help: 'How long the last generation took to open and check',
    registers,
  });
  const joins = new Counter({
    name: 'changes_joins_total',
    help: 'Lists of changes that were joined from differences, or not: gone, refused because a difference is damaged, failed',
    labelNames: ['outcome'] as const,
    registers,
  });
  const joining = new Gauge({
    name: 'changes_join_seconds',
    help: 'How long the last join of differences took',
    registers,
  });
  addReadings(registry, () => readings);
  addReplica(registry, () => readings?.replica);

  return {
    countSwap(milliseconds) {
      swaps.inc();
      opening.set(milliseconds / 1000);
    },
    countJoin(outcome, milliseconds) {
      joins.inc({ outcome });
      joining.set(milliseconds / 1000);
    },
    async expose(read) {
      readings = await read();
      const body = `${await registry.metrics()}\n${requestTimesText(totals)}`;
      return { body, contentType: registry.contentType };
    },
  };
}

function addRequestMetrics(registry: Registry, totals: RequestTotals): void {
  new Counter({
    name: 'api_requests_total',
    help: 'Responses under the base, by endpoint and status',
    labelNames: ['route', 'status'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { route, status, count } of totals.byRoute()) this.inc({ route, status }, count);
    },
  });
  addCounters(
    registry,
    'api_refusals_total',
    'Requests that were refused, by reason',
    'reason',
    totals.refusals,
  );
  addCounter(
    registry,
    'api_hot_responses_total',
    'Responses whose body was in memory',
    totals.cached,
  );
}

/**
 * The histogram of request times, as text of the exposition format: a histogram of prom-client can only
 * observe single values, not take counts.
 */
export function requestTimesText({ times }: RequestTotals): string {
  const name = 'api_request_duration_seconds';
  const lines = [
    `# HELP ${name} Time from reading a request to handing its response to the kernel, by endpoint`,
    `# TYPE ${name} histogram`,
  ];
  for (const { route, buckets, seconds } of times()) {
    let count = 0;
    for (const [bucket, own] of buckets.entries()) {
      // Each bucket of Prometheus has all shorter times, too.
      count += own;
      lines.push(`${name}_bucket{le="${BUCKETS[bucket] ?? '+Inf'}",route="${route}"} ${count}`);
    }
    lines.push(`${name}_sum{route="${route}"} ${seconds}`);
    lines.push(`${name}_count{route="${route}"} ${count}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Adds the metrics of limits that several proxies share. @param threads the counts of each thread */
export function addLimitMetrics(registry: Registry, threads: readonly Float64Array[]): void {
  const sum = (name: keyof typeof LIMIT_COUNTS) =>
    threads.reduce((total, counts) => total + counts[LIMIT_COUNTS[name]], 0);
  addGauge(registry, 'limits_store_up', '1 while every thread can ask the limits store', () =>
    Number(sum('isReady') === threads.length),
  );
  addCounter(
    registry,
    'limits_store_wait_seconds_total',
    'Time that requests have waited for the store',
    () => sum('waitedMs') / 1000,
  );
  addCounters(
    registry,
    'limits_decisions_total',
    'Requests that were decided by the store, by this proxy alone, or refused without the store',
    'by',
    () => [
      ['store', sum('asked')],
      ['proxy', sum('local')],
      ['refused', sum('refused')],
    ],
  );
}

/** Adds a gauge for each reading. The gauge of a reading that is not known has no value. */
function addReadings(registry: Registry, readings: () => Readings | undefined): void {
  const gauge = (name: string, help: string, valueIn: (now: Readings) => number | undefined) =>
    addGauge(registry, name, help, () => {
      const now = readings();
      return now && valueIn(now);
    });
  const inService = 'of the generation in service';
  gauge('snapshot_games', `Games ${inService}`, ({ snapshot }) => snapshot?.games);
  gauge('snapshot_covers', `Covers ${inService}`, ({ snapshot }) => snapshot?.covers);
  gauge(
    'snapshot_refused',
    '1 while the published generation is refused and an older one stays in service',
    ({ isRefusing }) => Number(isRefusing),
  );
  gauge('snapshot_held', '1 while an operator holds publishing', ({ held }) =>
    Number(held !== undefined),
  );
  gauge(
    'snapshot_age_seconds',
    'Seconds since the generation in service last agreed with the database',
    ({ dataAge }) => dataAge,
  );
  gauge('api_maintenance', '1 while the API answers 503 for maintenance', ({ isMaintenance }) =>
    Number(isMaintenance),
  );
  gauge('api_keys', 'Keys known', ({ keys }) => keys);
  gauge(
    'api_keys_age_seconds',
    'Seconds since the keys last agreed with the database',
    ({ keysAge }) => keysAge,
  );
  addGauges(registry, 'snapshot_info', 'The generation in service', 'id', () => {
    const id = readings()?.snapshot?.id;
    return id === undefined ? [] : [[id, 1]];
  });
}

/** Adds the gauges of a replica, with a label for what it keeps equal to a depot. */
function addReplica(registry: Registry, health: () => ReplicaHealth | null | undefined): void {
  const gauge = (
    name: string,
    help: string,
    valueIn: (part: Omit<ReplicaHealth, 'keys' | 'published_at'>) => number | null,
  ) =>
    addGauges(registry, name, help, 'part', () => {
      const snapshot = health();
      const parts = [['snapshot', snapshot] as const, ['keys', snapshot?.keys] as const];
      return parts.flatMap(([part, found]) => {
        const value = found ? valueIn(found) : null;
        return value === null ? [] : [[part, value] as const];
      });
    });
  gauge(
    'replica_age_seconds',
    "Seconds since this replica was last found equal to its depot's",
    ({ age_seconds }) => age_seconds,
  );
  gauge('replica_failing', '1 while a replica cannot reach or read its depot', ({ error }) =>
    Number(error !== null),
  );
  gauge('replica_refused', '1 while a replica refuses what its depot offers', ({ refused }) =>
    Number(refused !== null),
  );
}
