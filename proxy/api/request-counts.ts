/**
 * Counts and times the requests that each serving thread has answered, for the metrics. The counts are
 * in shared memory: each thread increments its own, and the first thread reads all of them. Counting
 * takes the same time for every request and allocates nothing.
 */
import { sharedZeros } from '../../lib/columns/arrays.ts';
import { ADMISSION_REFUSALS } from '../admit/admission.ts';
import { ROUTES, type RouteName } from './routes/route.ts';

/** A route; 'none' for a request that was answered before its route was known. */
export type RouteLabel = RouteName | 'none';

/**
 * Why a request was not served although it was well-formed. A new reason needs a row in the table in
 * operations/monitoring.md.
 */
export const REFUSALS = [
  'maintenance',
  ...ADMISSION_REFUSALS,
  'no_snapshot',
  'no_keys',
  'many_downloads',
  'many_waiting',
] as const;
export type RefusalReason = (typeof REFUSALS)[number];

/** The upper bounds of the buckets of a histogram, in seconds. One more bucket has all longer times. */
export const BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
];

const LABELS: readonly RouteLabel[] = [...ROUTES, 'none'];
/** How many counts of statuses a route has: one for each status below this. */
const STATUSES = 600;
/** The counts of a route: by status, the buckets, and the sum of the times. */
const FIRST_BUCKET = STATUSES;
const TIME_SUM = FIRST_BUCKET + BUCKETS.length + 1;
const PER_ROUTE = TIME_SUM + 1;
/** The counts that come after those of the last route. */
const CACHED = LABELS.length * PER_ROUTE;
const FIRST_REFUSAL = CACHED + 1;
const LENGTH = FIRST_REFUSAL + REFUSALS.length;

export function newRequestCounts(): Float64Array {
  return sharedZeros(Float64Array, LENGTH);
}

export interface RequestCounts {
  /** @param milliseconds from reading the request to handing the response to the kernel */
  count(route: RouteLabel, status: number, milliseconds: number, refusal?: RefusalReason): void;
  /** Counts a response whose body came from the cache. */
  countCached(): void;
}

/** Counts in the memory of one thread. */
export function makeRequestCounts(counts: Float64Array): RequestCounts {
  const startOf = new Map(LABELS.map((label, number) => [label, number * PER_ROUTE]));
  const refusalAt = new Map(REFUSALS.map((reason, number) => [reason, FIRST_REFUSAL + number]));
  return {
    count(route, status, milliseconds, refusal) {
      const start = startOf.get(route) ?? 0;
      const seconds = milliseconds / 1000;
      let bucket = 0;
      while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]) bucket++;
      counts[start + status]++;
      counts[start + FIRST_BUCKET + bucket]++;
      counts[start + TIME_SUM] += seconds;
      if (refusal !== undefined) counts[refusalAt.get(refusal) ?? LENGTH]++;
    },
    countCached() {
      counts[CACHED]++;
    },
  };
}

export interface RequestTotals {
  readonly routes: readonly RouteTotals[];
  readonly refusals: readonly (readonly [reason: RefusalReason, count: number])[];
  readonly cached: number;
}

interface RouteTotals {
  readonly route: RouteLabel;
  /** How many responses had each status. */
  readonly statuses: Float64Array;
  /** For each bucket, how many requests it has. Unlike those of Prometheus, they do not add up. */
  readonly buckets: Float64Array;
  /** The times of all requests together. */
  readonly seconds: number;
}

/** Adds up the counts of all threads. @param threads for each serving thread, its {@link newRequestCounts} */
export function sumRequestCounts(threads: readonly Float64Array[]): RequestTotals {
  const sums = new Float64Array(LENGTH).map((_, at) =>
    threads.reduce((sum, counts) => sum + counts[at], 0),
  );
  return {
    routes: LABELS.map((route, number) => {
      const own = sums.subarray(number * PER_ROUTE, (number + 1) * PER_ROUTE);
      return {
        route,
        statuses: own.subarray(0, STATUSES),
        buckets: own.subarray(FIRST_BUCKET, TIME_SUM),
        seconds: own[TIME_SUM],
      };
    }),
    refusals: REFUSALS.map((reason, number) => [reason, sums[FIRST_REFUSAL + number]] as const),
    cached: sums[CACHED],
  };
}
