/**
 * The metrics of requests: how many, how long they took, and why some were refused. They are made of the
 * counts of all serving threads at each scrape.
 */
import { Counter, type Registry } from 'prom-client';
import { addCounter } from '../../program/admin/metrics.ts';
import { BUCKETS, type RequestTotals } from '../api/request-counts.ts';

export function addRequestMetrics(registry: Registry, totals: RequestTotals): void {
  const registers = [registry];
  new Counter({
    name: 'api_requests_total',
    help: 'Responses under the base, by endpoint and status',
    labelNames: ['route', 'status'] as const,
    registers,
    collect() {
      this.reset();
      for (const { route, status, count } of totals.byRoute()) this.inc({ route, status }, count);
    },
  });
  new Counter({
    name: 'api_refusals_total',
    help: 'Requests that were refused, by reason',
    labelNames: ['reason'] as const,
    registers,
    collect() {
      this.reset();
      for (const { reason, count } of totals.refusals()) this.inc({ reason }, count);
    },
  });
  addCounter(registry, 'api_hot_responses_total', 'Responses whose body was in memory', () =>
    totals.cached(),
  );
}

/** @param read how many lines of the access log were written, and how many dropped */
export function addAccessLogMetrics(
  registry: Registry,
  read: () => { readonly written: number; readonly dropped: number },
): void {
  addCounter(
    registry,
    'access_log_lines_total',
    'Lines of the access log that were written',
    () => read().written,
  );
  addCounter(
    registry,
    'access_log_dropped_total',
    'Lines of the access log that were dropped',
    () => read().dropped,
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
