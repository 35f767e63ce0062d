/** Gauges and counters whose values are read when Prometheus scrapes. */
import { Counter, Gauge, type Registry } from 'prom-client';

/** @param read the value; undefined if it is not known, and then the gauge has none */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      const value = read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

/** As {@link addGauge}, with a value for each value of one label. */
export function addGauges<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  label: Label,
  read: () => Iterable<readonly [value: string, reading: number]>,
): void {
  new Gauge<string>({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, reading] of read()) this.set({ [label]: value }, reading);
    },
  });
}

/** A counter without labels; `read` never returns less than before. */
export function addCounter(
  registry: Registry,
  name: string,
  help: string,
  read: () => number,
): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/** As {@link addCounter}, with a value for each value of one label. */
export function addCounters<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  label: Label,
  read: () => Iterable<readonly [value: string, reading: number]>,
): void {
  new Counter<string>({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, reading] of read()) this.inc({ [label]: value }, reading);
    },
  });
}
