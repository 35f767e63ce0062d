/** What `/readyz` and the metrics say about the limits that the fleet shares. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { type LimitTotals, readLimitTotals } from '../limits/shared/counts.ts';
import type { OpenSharedLimits } from '../limits/shared/open-shared-limits.ts';
import type { Failure } from '../limits/shared/shared-limits.ts';

export interface LimitState {
  /** How requests are decided now: by the store, or as LIMITS_FAILURE says. */
  readonly mode: 'shared' | Failure;
  readonly proxies: number;
  /** Why the store cannot be asked, or which of its settings is unsafe. */
  readonly fault: string | undefined;
  readonly totals: LimitTotals;
}

/** @param threads the counts of every serving thread */
export function readLimitState(
  failure: Failure,
  limits: OpenSharedLimits | undefined,
  threads: readonly Float64Array[],
): LimitState | undefined {
  if (limits === undefined) return undefined;
  const totals = readLimitTotals(threads);
  return {
    mode: totals.isReachable ? 'shared' : failure,
    proxies: totals.proxies,
    fault: limits.fault(),
    totals,
  };
}

export function addLimitMetrics(registry: Registry, read: () => LimitState | undefined): void {
  const registers = [registry];
  const gauge = (name: string, help: string, valueIn: (totals: LimitTotals) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const state = read();
        if (state !== undefined) this.set(valueIn(state.totals));
      },
    });
  const counter = (name: string, help: string, valueIn: (totals: LimitTotals) => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        const state = read();
        this.reset();
        if (state !== undefined) this.inc(valueIn(state.totals));
      },
    });
  gauge('limits_store_up', '1 while every thread can ask the limits store', (totals) =>
    Number(totals.isReachable),
  );
  gauge('limits_proxies', 'Proxies that share the limits', ({ proxies }) => proxies);
  counter('limits_store_calls_total', 'Answered calls of the store', ({ calls }) => calls);
  counter('limits_store_failures_total', 'Calls that the store did not answer', (t) => t.failures);
  counter(
    'limits_store_wait_seconds_total',
    'Time that requests have waited for the store',
    ({ waitedSeconds }) => waitedSeconds,
  );
  counter(
    'limits_store_slow_total',
    'Requests that have waited for more than 10 ms',
    ({ slow }) => slow,
  );
  new Counter({
    name: 'limits_decisions_total',
    help: 'Requests that were decided by the store, by this proxy alone, or refused without the store',
    labelNames: ['by'] as const,
    registers,
    collect() {
      const state = read();
      this.reset();
      if (state === undefined) return;
      this.inc({ by: 'store' }, state.totals.asked);
      this.inc({ by: 'proxy' }, state.totals.local);
      this.inc({ by: 'refused' }, state.totals.refused);
    },
  });
}
