/**
 * How many requests a serving thread has answered, by route and status, for the metrics. They are
 * numbers in shared memory: each thread adds to its own, and the first thread reads all.
 */
import { ROUTES, type RouteName } from './routes.ts';

/** A route; 'none' for a request that ended before its route was known. */
export type RouteLabel = RouteName | 'none';

/** What one thread has answered. */
export interface RequestCounts {
  count(route: RouteLabel, status: number): void;
  /** Counts a body that came from the cache. */
  countCached(): void;
}

/** The sum of all threads. */
export interface RequestTotals {
  /** Every route and status with at least one answer. */
  byRoute(): Iterable<{ route: RouteLabel; status: number; count: number }>;
  cached(): number;
}

const STATUSES = 600;
const LABELS: readonly RouteLabel[] = [...ROUTES, 'none'];
/** Behind the counts of the last route. */
const CACHED = LABELS.length * STATUSES;

export function newRequestCounts(): Float64Array {
  return new Float64Array(new SharedArrayBuffer((CACHED + 1) * Float64Array.BYTES_PER_ELEMENT));
}

export function makeRequestCounts(counts: Float64Array): RequestCounts {
  const startOf = new Map(LABELS.map((label, number) => [label, number * STATUSES]));
  return {
    count(route, status) {
      counts[(startOf.get(route) ?? 0) + status]++;
    },
    countCached() {
      counts[CACHED]++;
    },
  };
}

/** @param threads the counts of every serving thread */
export function makeRequestTotals(threads: readonly Float64Array[]): RequestTotals {
  const sumAt = (index: number) => threads.reduce((sum, counts) => sum + counts[index], 0);
  return {
    *byRoute() {
      for (const [number, route] of LABELS.entries()) {
        for (let status = 0; status < STATUSES; status++) {
          const count = sumAt(number * STATUSES + status);
          if (count > 0) yield { route, status, count };
        }
      }
    },
    cached: () => sumAt(CACHED),
  };
}
