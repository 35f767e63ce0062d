/** What `/readyz` and the metrics say about the limits that several proxies share. */
import type { Registry } from 'prom-client';
import { addCounter, addCounters, addGauge } from '../../program/admin/readings.ts';
import { type Failure, LIMIT_COUNTS } from '../limits/redis-limiter.ts';

export interface LimitState {
  /** How requests are decided now: by Redis, or as LIMITS_FAILURE says. */
  readonly mode: 'shared' | Failure;
  readonly error: string | null;
}

/** @param threads the counts of every serving thread */
export function readLimitState(threads: readonly Float64Array[], failure: Failure): LimitState {
  const isReady = threads.every((counts) => counts[LIMIT_COUNTS.isReady] === 1);
  if (isReady) return { mode: 'shared', error: null };
  return { mode: failure, error: 'the server of LIMITS_URL cannot be asked; the log says why' };
}

export function addLimitMetrics(registry: Registry, threads: readonly Float64Array[]): void {
  const sum = (name: keyof typeof LIMIT_COUNTS) =>
    threads.reduce((total, counts) => total + counts[LIMIT_COUNTS[name]], 0);
  const counter = (name: string, help: string, read: () => number) =>
    addCounter(registry, `limits_${name}`, help, read);
  addGauge(registry, 'limits_store_up', '1 while every thread can ask the limits store', () =>
    Number(readLimitState(threads, 'local').mode === 'shared'),
  );
  counter('store_calls_total', 'Answered calls of the store', () => sum('calls'));
  counter('store_failures_total', 'Calls that the store did not answer', () => sum('failures'));
  counter(
    'store_wait_seconds_total',
    'Time that requests have waited for the store',
    () => sum('waitedMs') / 1000,
  );
  counter('store_slow_total', 'Requests that have waited for more than 10 ms', () => sum('slow'));
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
