/** The metrics of the connections of a program. */
import { Counter, type Registry } from 'prom-client';
import { countConnections } from '../connections.ts';
import { addGauge } from './readings.ts';

/**
 * @param prefix how the names begin, such as "api"
 * @param threads the connection cells of every serving thread
 */
export function addConnectionMetrics(
  registry: Registry,
  prefix: string,
  threads: readonly Float64Array[],
): void {
  const count = () => countConnections(threads);
  addGauge(registry, `${prefix}_connections`, 'Connections open', () => count().open);
  addGauge(
    registry,
    `${prefix}_connections_limit`,
    'Connections that may be open',
    () => count().limit,
  );
  new Counter({
    name: `${prefix}_connections_dropped_total`,
    help: 'Connections over the limit: unused ones that were closed, new ones that were refused',
    labelNames: ['which'] as const,
    registers: [registry],
    collect() {
      const { closed, refused } = count();
      this.reset();
      this.inc({ which: 'unused' }, closed);
      this.inc({ which: 'new' }, refused);
    },
  });
}
