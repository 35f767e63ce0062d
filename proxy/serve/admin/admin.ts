/**
 * The admin address of the proxy, with the metrics that Prometheus scrapes. Each serving thread counts in
 * plain arrays, and prom-client gets the sums at each scrape: incrementing a labelled prom-client counter
 * would cost each request more time than the rate limiter does.
 */
import { Counter, type Registry } from 'prom-client';
import {
  addConnectionMetrics,
  addCounter,
  addCounters,
  addGauge,
  addGauges,
} from '../../../lib/program/admin/metrics.ts';
import { makeProgramAdmin, type ProgramAdmin } from '../../../lib/program/admin/program-admin.ts';
import { LIMIT_COUNTS } from '../../admit/limits/redis-limiter.ts';
import { BUCKETS, type RequestTotals, sumRequestCounts } from '../../api/request-counts.ts';
import type { ThreadCounts } from '../workers/serving-thread.ts';
import { type ProxyState, readState, type StateParts } from './state.ts';

export function makeProxyAdmin(parts: StateParts): ProgramAdmin {
  const { environment: settings, threads, snapshots } = parts;
  const readTotals = () => sumRequestCounts(threads.map((each) => each.requests));
  let state: ProxyState;
  const admin = makeProgramAdmin({
    program: 'proxy',
    settings,
    async refresh() {
      state = await readState(parts);
    },
    readiness: () => state,
    furtherMetrics: () => requestTimesText(readTotals()),
  });
  const { registry } = admin;
  addRequestMetrics(registry, readTotals);
  const connections = threads.map((each) => each.connections);
  addConnectionMetrics(registry, 'api', connections);
  if (settings.LIMITS_URL !== undefined) addLimitMetrics(registry, threads);
  const swaps = 'Generations that came into service';
  addCounter(registry, 'snapshot_swaps_total', swaps, () => snapshots.swaps());
  const counted = (name: 'games' | 'covers') => () => snapshots.current()?.counts[name];
  addGauge(registry, 'snapshot_games', 'Games of the generation in service', counted('games'));
  addGauge(registry, 'snapshot_covers', 'Covers of the generation in service', counted('covers'));
  const open = 'Replaced generations that are open for downloads';
  addGauge(registry, 'snapshot_replaced_open', open, () => snapshots.kept());
  for (const [name, help, valueIn] of STATE_GAUGES) {
    addGauge(registry, name, help, () => valueIn(state) ?? undefined);
  }
  addGauges(registry, 'snapshot_info', 'The generation in service', 'id', () =>
    state.snapshot === null ? [] : [[state.snapshot, 1]],
  );
  addReplicaGauges(registry, () => state.replica);
  return admin;
}

/** The gauge of a value that is not known has none. */
const STATE_GAUGES: readonly [
  name: string,
  help: string,
  valueIn: (state: ProxyState) => number | null | undefined,
][] = [
  [
    'snapshot_refused',
    '1 while the published generation is refused and an older one stays in service',
    ({ refused }) => Number(refused !== null),
  ],
  ['snapshot_held', '1 while an operator holds publishing', ({ held }) => Number(held !== null)],
  [
    'snapshot_age_seconds',
    'Seconds since the generation in service last agreed with the database',
    (state) => state.snapshot_age_seconds,
  ],
  [
    'api_maintenance',
    '1 while the API answers 503 for maintenance',
    ({ maintenance }) => Number(maintenance !== null),
  ],
  ['api_keys', 'Keys known', ({ keys }) => keys],
  [
    'api_keys_age_seconds',
    'Seconds since the keys last agreed with the database',
    (state) => state.keys_age_seconds,
  ],
];

function addRequestMetrics(registry: Registry, read: () => RequestTotals): void {
  new Counter({
    name: 'api_requests_total',
    help: 'Responses under the base, by endpoint and status',
    labelNames: ['route', 'status'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { route, statuses } of read().routes) {
        for (const [status, count] of statuses.entries()) {
          if (count > 0) this.inc({ route, status }, count);
        }
      }
    },
  });
  const refused = 'Requests that were refused, by reason';
  addCounters(registry, 'api_refusals_total', refused, 'reason', () => read().refusals);
  const cachedHelp = 'Responses whose body was in memory';
  addCounter(registry, 'api_cached_responses_total', cachedHelp, () => read().cached);
}

/**
 * The histogram of request times, as text of the exposition format: a histogram of prom-client can only
 * observe single values, not take counts.
 */
export function requestTimesText({ routes }: RequestTotals): string {
  const name = 'api_request_duration_seconds';
  const lines = [
    `# HELP ${name} Time from reading a request to handing its response to the kernel, by endpoint`,
    `# TYPE ${name} histogram`,
  ];
  for (const { route, buckets, seconds } of routes) {
    if (buckets.every((own) => own === 0)) continue;
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

/** Adds the metrics of limits that several proxies share. */
function addLimitMetrics(registry: Registry, threads: readonly ThreadCounts[]): void {
  const sum = (name: keyof typeof LIMIT_COUNTS) =>
    threads.reduce((total, { limits }) => total + limits[LIMIT_COUNTS[name]], 0);
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

/** Adds the gauges of a replica, with a label for what it keeps equal to a depot. */
function addReplicaGauges(registry: Registry, replica: () => ProxyState['replica']): void {
  const parts = () => {
    const snapshot = replica();
    return Object.entries({ snapshot, keys: snapshot?.keys });
  };
  const age = "Seconds since this replica was last found equal to its depot's";
  addGauges(registry, 'replica_age_seconds', age, 'part', () =>
    parts().flatMap(([part, found]) =>
      found?.age_seconds == null ? [] : [[part, found.age_seconds]],
    ),
  );
  const refused = '1 while a replica refuses what its depot offers';
  addGauges(registry, 'replica_refused', refused, 'part', () =>
    parts().flatMap(([part, found]) => (found ? [[part, Number(found.refused !== null)]] : [])),
  );
}
