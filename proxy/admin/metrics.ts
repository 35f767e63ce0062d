/**
 * What Prometheus scrapes. Requests are counted in plain arrays, one for each serving thread, and
 * handed to prom-client when it asks: a labelled counter would cost each request more than the
 * limiter does.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { RouteLabel } from '../http/handle.ts';
import { ROUTES } from '../http/routes.ts';
import type { Held } from './publishing-state.ts';

const LARGEST_STATUS = 600;

/** Read whenever the metrics are scraped; undefined: not known (yet). */
export interface Readings {
  readonly snapshot:
    | { readonly id: string; readonly games: number; readonly covers: number }
    | undefined;
  readonly isRefusing: boolean;
  /** Undefined unless an operator holds publishing. */
  readonly held: Held | undefined;
  /** In seconds, since the generation in service last agreed with the database. */
  readonly dataAge: number | undefined;
  readonly keys: number | undefined;
  /** In seconds, since the keys last agreed with the database. */
  readonly keysAge: number | undefined;
}

/** What one thread has answered. */
export interface RequestCounts {
  count(route: RouteLabel, status: number): void;
  /** A body came from memory. */
  countHot(): void;
}

const LABELS: readonly RouteLabel[] = [...ROUTES, 'none'];
/** The number behind those of the last route counts the bodies that came from memory. */
const HOT = LABELS.length * LARGEST_STATUS;

/** The counts of a thread, for it to write and the first thread to read. */
export function newCounts(): Float64Array {
  return new Float64Array(new SharedArrayBuffer((HOT + 1) * 8));
}

export function makeRequestCounts(counts: Float64Array): RequestCounts {
  const startOf = new Map(LABELS.map((label, place) => [label, place * LARGEST_STATUS]));
  const increment = (place: number) => {
    counts[place] = counts[place] + 1;
  };
  return {
    count: (route, status) => increment((startOf.get(route) as number) + status),
    countHot: () => increment(HOT),
  };
}

export interface Metrics {
  /** To which other modules add their own metrics. */
  readonly registry: Registry;
  countSwap(milliseconds: number): void;
  /** @returns the exposition format and its content type */
  expose(read: () => Promise<Readings>): Promise<{ body: string; contentType: string }>;
}

/** @param threads the counts of every serving thread */
export function makeMetrics(threads: readonly Float64Array[]): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const sumAt = (place: number) => threads.reduce((sum, counts) => sum + counts[place], 0);
  let readings: Readings | undefined;

  collectDefaultMetrics({ register: registry });
  new Counter({
    name: 'api_requests_total',
    help: 'Responses under the base, by endpoint and status',
    labelNames: ['route', 'status'] as const,
    registers,
    collect() {
      this.reset();
      for (let place = 0; place < HOT; place++) {
        const count = sumAt(place);
        const route = LABELS[Math.floor(place / LARGEST_STATUS)];
        if (count > 0) this.inc({ route, status: place % LARGEST_STATUS }, count);
      }
    },
  });
  new Counter({
    name: 'api_hot_responses_total',
    help: 'Responses whose body was in memory',
    registers,
    collect() {
      this.reset();
      this.inc(sumAt(HOT));
    },
  });
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
  const gauge = (name: string, help: string, read: (readings: Readings) => number | undefined) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const value = readings === undefined ? undefined : read(readings);
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  gauge('snapshot_games', 'Games of the generation in service', ({ snapshot }) => snapshot?.games);
  gauge(
    'snapshot_covers',
    'Covers of the generation in service',
    ({ snapshot }) => snapshot?.covers,
  );
  gauge(
    'snapshot_refused',
    '1 while the published generation is damaged and an older one serves',
    (now) => Number(now.isRefusing),
  );
  gauge('snapshot_held', '1 while an operator holds publishing', ({ held }) =>
    Number(held !== undefined),
  );
  gauge(
    'snapshot_age_seconds',
    'Since the generation in service last agreed with the database',
    (now) => now.dataAge,
  );
  gauge('api_keys', 'Keys known', (now) => now.keys);
  gauge(
    'api_keys_age_seconds',
    'Since the keys last agreed with the database',
    (now) => now.keysAge,
  );
  new Gauge({
    name: 'snapshot_info',
    help: 'The generation in service',
    labelNames: ['id'] as const,
    registers,
    collect() {
      this.reset();
      const snapshot = readings?.snapshot;
      if (snapshot !== undefined) this.set({ id: snapshot.id }, 1);
    },
  });

  return {
    registry,
    countSwap(milliseconds) {
      swaps.inc();
      opening.set(milliseconds / 1000);
    },
    async expose(read) {
      readings = await read();
      return { body: await registry.metrics(), contentType: registry.contentType };
    },
  };
}
