/**
 * Counts the requests that each serving thread has answered, by route and status, for the metrics. The
 * counts are in shared memory: each thread increments its own, and the first thread reads all of them.
 */
import { ROUTES, type RouteName } from './routes/route.ts';

/** A route; 'none' for a request that was answered before its route was known. */
export type RouteLabel = RouteName | 'none';

/** The counts of one thread. */
export interface RequestCounts {
  count(route: RouteLabel, status: number): void;
  /** Counts a response whose body came from the cache. */
  countCached(): void;
}

/** The sums of the counts of all threads. */
export interface RequestTotals {
  /** Each route and status with at least one response. */
  byRoute(): Iterable<{ route: RouteLabel; status: number; count: number }>;
  cached(): number;
}

/** How many counts a route has: one for each status below this. */
const STATUSES = 600;
const LABELS: readonly RouteLabel[] = [...ROUTES, 'none'];
/** The index of the count of cached bodies, after the counts of the last route. */
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

/** @param threads for each serving thread, its {@link newRequestCounts} */
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
