/**
 * The metrics that Prometheus scrapes. Each serving thread counts its requests in a plain array, and
 * prom-client gets the sums at each scrape. Incrementing a labelled prom-client counter would cost each
 * request more time than the rate limiter does.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import { addProcessMetrics } from '../../program/admin/metrics.ts';
import { makeRequestTotals } from '../api/request-counts.ts';
import type { Joined } from '../changes/changes.ts';
import type { Held, ReplicaHealth } from './publishing-state.ts';
import { addRequestMetrics, requestTimesText } from './request-metrics.ts';

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
  /** Other modules add their own metrics to it. */
  readonly registry: Registry;
  countSwap(milliseconds: number): void;
  /** @param outcome 'failed' if the thread that joins differences failed */
  countJoin(outcome: Joined['outcome'] | 'failed', milliseconds: number): void;
  /** @returns all metrics in the exposition format, and its content type */
  expose(read: () => Promise<Readings>): Promise<{ body: string; contentType: string }>;
}

/** @param threads the request counts of every serving thread */
export function makeMetrics(threads: readonly Float64Array[]): Metrics {
  const registry = new Registry();
  const totals = makeRequestTotals(threads);
  let readings: Readings | undefined;

  addProcessMetrics(registry);
  addRequestMetrics(registry, totals);
  const swaps = new Counter({
    name: 'snapshot_swaps_total',
    help: 'Generations that came into service',
    registers: [registry],
  });
  const opening = new Gauge({
    name: 'snapshot_open_seconds',
    help: 'How long the last generation took to open and check',
    registers: [registry],
  });
  const joins = new Counter({
    name: 'changes_joins_total',
    help: 'Lists of changes that were joined from differences, or not: gone, refused because a difference is damaged, failed',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  const joining = new Gauge({
    name: 'changes_join_seconds',
    help: 'How long the last join of differences took',
    registers: [registry],
  });
  addReadings(registry, () => readings);
  addReplica(registry, () => readings?.replica);

  return {
    registry,
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

/** Adds a gauge for each reading. The gauge of a reading that is not known has no value. */
function addReadings(registry: Registry, readings: () => Readings | undefined): void {
  const registers = [registry];
  const gauge = (name: string, help: string, valueIn: (now: Readings) => number | undefined) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const now = readings();
        const value = now && valueIn(now);
        if (value === undefined) this.remove();
        else this.set(value);
      },
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
  new Gauge({
    name: 'snapshot_info',
    help: 'The generation in service',
    labelNames: ['id'] as const,
    registers,
    collect() {
      this.reset();
      const snapshot = readings()?.snapshot;
      if (snapshot !== undefined) this.set({ id: snapshot.id }, 1);
    },
  });
}

/** Adds the gauges of a replica, with a label for what it keeps equal to a depot. */
function addReplica(registry: Registry, health: () => ReplicaHealth | null | undefined): void {
  const gauge = (
    name: string,
    help: string,
    valueIn: (part: Omit<ReplicaHealth, 'keys' | 'published_at'>) => number | null,
  ) =>
    new Gauge({
      name,
      help,
      labelNames: ['part'] as const,
      registers: [registry],
      collect() {
        this.reset();
        const snapshot = health();
        for (const [part, found] of [
          ['snapshot', snapshot] as const,
          ['keys', snapshot?.keys] as const,
        ]) {
          const value = found ? valueIn(found) : null;
          if (value !== null) this.set({ part }, value);
        }
      },
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
