/** The metrics that every program has: memory, CPU time, event loop, garbage collection. */
import { collectDefaultMetrics, type Registry } from 'prom-client';

/** Gauges whose names end as only those of counters may. Their sums are left out, and the gauges stay. */
const WRONG_NAMES = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of WRONG_NAMES) registry.removeSingleMetric(name);
}
