/**
 * What Prometheus scrapes. Requests are counted in plain arrays and handed to prom-client when it
 * asks: a labelled counter would cost each request more than the limiter does.
 */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { RouteLabel } from './http/handle.ts';
import { ROUTES } from './http/routes.ts';

const LARGEST_STATUS = 600;

/** Read whenever the metrics are scraped; undefined: not known (yet). */
export interface Readings {
  readonly snapshot:
    | { readonly id: string; readonly games: number; readonly covers: number }
    | undefined;
  readonly isRefusing: boolean;
  /** In seconds, since the snapshot last agreed with the database. */
  readonly dataAge: number | undefined;
  readonly keys: number | undefined;
  /** In seconds, since the keys last agreed with the database. */
  readonly keysAge: number | undefined;
}

export interface Metrics {
  count(route: RouteLabel, status: number): void;
  /** A body came from memory. */
  countHot(): void;
  countSwap(milliseconds: number): void;
  /** @returns the exposition format and its content type */
  expose(read: () => Promise<Readings>): Promise<{ body: string; contentType: string }>;
}

export function makeMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Map<RouteLabel, Float64Array>();
  for (const route of [...ROUTES, 'none'] as const) {
    requests.set(route, new Float64Array(LARGEST_STATUS));
  }
  let hotHits = 0;
  let readings: Readings | undefined;

  collectDefaultMetrics({ register: registry });
  new Counter({
    name: 'api_requests_total',
    help: 'Responses under the base, by endpoint and status',
    labelNames: ['route', 'status'] as const,
    registers,
    collect() {
      this.reset();
      for (const [route, counts] of requests) {
        for (const [status, count] of counts.entries()) {
          if (count > 0) this.inc({ route, status }, count);
        }
      }
    },
  });
  new Counter({
    name: 'api_hot_responses_total',
    help: 'Responses whose body was in memory',
    registers,
    collect() {
      this.reset();
      this.inc(hotHits);
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
  gauge(
    'snapshot_age_seconds',
    'Since the snapshot last agreed with the database',
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
    count(route, status) {
      const counts = requests.get(route) as Float64Array;
      counts[status] = (counts[status] as number) + 1;
    },
    countHot() {
      hotHits++;
    },
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
