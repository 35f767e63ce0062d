/** Metrics whose values are read when Prometheus scrapes, and those that several programs have. */
import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { countConnections } from '../connections.ts';

/** Gauges whose names end as only those of counters may. Their sums are left out, and the gauges stay. */
const WRONG_NAMES = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

/** Memory, CPU time, event loop and garbage collection of the process. */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of WRONG_NAMES) registry.removeSingleMetric(name);
}

/** A value for each value of one label. */
type Labelled = Iterable<readonly [label: string, value: number]>;

/** Adds a metric with a value for each value of a label. The values of a counter never decrease. */
export const addGauges = withLabel(Gauge<string>);
export const addCounters = withLabel(Counter<string>);
/** Adds a metric with one value, or with none while it is not known. */
export const addGauge = withoutLabel(addGauges);
export const addCounter = withoutLabel(addCounters);

type AddLabelled = (
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Labelled,
) => void;

function withLabel(Metric: typeof Gauge<string> | typeof Counter<string>): AddLabelled {
  return (registry, name, help, label, read) => {
    const labelNames = label === '' ? [] : [label];
    const metric = new Metric({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        metric.reset();
        // Without a label, this would leave 0.
        if (label === '') metric.remove();
        for (const [value, reading] of read()) {
          metric.inc(label === '' ? {} : { [label]: value }, reading);
        }
      },
    });
  };
}

function withoutLabel(add: AddLabelled) {
  return (registry: Registry, name: string, help: string, read: () => number | undefined): void =>
    add(registry, name, help, '', () => {
      const value = read();
      return value === undefined ? [] : [['', value]];
    });
}

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
  const [name, limit] = [`${prefix}_connections`, `${prefix}_connections_limit`];
  addGauge(registry, name, 'Connections open', () => count().open);
  addGauge(registry, limit, 'Connections that may be open', () => count().limit);
  const dropped = `${prefix}_connections_dropped_total`;
  const help =
    'Connections over the limit: unused ones that were closed, new ones that were refused';
  addCounters(registry, dropped, help, 'which', () => {
    const { closed, refused } = count();
    return Object.entries({ unused: closed, new: refused });
  });
}
