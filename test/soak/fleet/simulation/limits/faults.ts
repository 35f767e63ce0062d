/**
 * What goes wrong in a schedule: links that are cut or slow, proxies that pause, crash, restart or join,
 * and a store that crashes, is emptied, fails over or has its clock changed.
 */
import { type FleetParts, type SimulatedProxy, startProxyProgram } from './fleet.ts';

/** "outage": the store is gone for an hour. */
export type FaultKind = 'none' | 'random' | 'outage';

export const OUTAGE_FROM_MS = 60_000;
export const OUTAGE_MS = 3_600_000;

/** A fault, and the time that it lasts. */
export interface Fault {
  readonly name: string;
  readonly from: number;
  readonly until: number;
}

/**
 * Plans the faults of a schedule, and their ends.
 * @param end from then on, everything is whole again
 */
export function addFaults(
  kind: FaultKind,
  parts: FleetParts,
  proxies: SimulatedProxy[],
  end: number,
): Fault[] {
  const { scheduler, network, random } = parts;
  const faults: Fault[] = [];
  const add = (fault: (typeof FAULTS)[number], from: number, lasts: number) => {
    const until = Math.min(end, from + lasts);
    faults.push({ name: fault.name, from, until });
    scheduler.after(from, () => {
      const undo = fault({ ...parts, proxies });
      scheduler.after(until - from, () => undo?.());
    });
  };
  if (kind === 'outage') add(crashedStore, OUTAGE_FROM_MS, OUTAGE_MS);
  if (kind === 'random') {
    const count = 1 + random.below(6);
    for (let i = 0; i < count; i++) {
      const from = 3_000 + random.next() * (end - 3_000);
      add(random.pick(FAULTS), from, 50 + random.next() ** 3 * 90_000);
    }
  }
  // Everything is whole again in the calm end.
  scheduler.after(end, () => {
    network.restart();
    for (const { link } of proxies) {
      link.state = 'up';
      link.latency = link.usualLatency;
    }
  });
  return faults;
}

interface FaultParts extends FleetParts {
  readonly proxies: SimulatedProxy[];
}
type Undo = (() => void) | undefined;

const alive = ({ random, proxies }: FaultParts) => random.pick(proxies);

function crashedStore({ network }: FaultParts): Undo {
  network.crash();
  return network.restart;
}

const FAULTS: readonly ((parts: FaultParts) => Undo)[] = [
  function cutLink(parts) {
    const { link } = alive(parts);
    link.state = parts.random.happens(0.5) ? 'cut' : 'silent';
    return () => {
      link.state = 'up';
    };
  },
  function cutAllLinks({ proxies }) {
    for (const { link } of proxies) link.state = 'silent';
    return () => {
      for (const { link } of proxies) link.state = 'up';
    };
  },
  function slowLink(parts) {
    const { link } = alive(parts);
    link.latency = 20 + parts.random.below(200);
    return () => {
      link.latency = link.usualLatency;
    };
  },
  function pausedProxy(parts) {
    const proxy = alive(parts);
    proxy.pausedUntil = parts.scheduler.now() + 100 + parts.random.below(5_000);
    return undefined;
  },
  function crashedProxy(parts) {
    const proxy = alive(parts);
    const living = parts.proxies.filter(({ isAlive }) => isAlive);
    if (living.length > 1 && proxy.isAlive) proxy.crash();
    return undefined;
  },
  function newProxy(parts) {
    const { proxies, scheduler, random, network, limits } = parts;
    // Proxies that have never shared limits do not know that they must wait for each other.
    const isWhole = proxies.every(({ isAlive, fleet }) => !isAlive || fleet.epoch() !== undefined);
    if (!isWhole) return undefined;
    const proxy = startProxyProgram(parts, `p${proxies.length}`);
    proxies.push(proxy);
    // It is busy at once. Perhaps the store forgets it before all others have heard of it.
    for (let i = 0; i < limits[0]; i++)
      scheduler.after(random.next() * 1_500, () => proxy.request(0));
    if (random.happens(0.5)) {
      scheduler.after(random.next() * 2_000, () => {
        network.crash();
        proxy.link.state = 'cut';
        scheduler.after(50, network.restart);
        scheduler.after(random.next() * 3_000, () => {
          proxy.link.state = 'up';
        });
      });
    }
    return undefined;
  },
  crashedStore,
  function restartedStore({ network, scheduler }) {
    network.crash();
    scheduler.after(300, network.restart);
    return undefined;
  },
  function emptiedStore({ network }) {
    const { memory } = network.primary();
    memory.state = undefined;
    memory.open = undefined;
    memory.seed = undefined;
    memory.changes = 0;
    for (const each of [memory.members, memory.joined, memory.expected, memory.seeded]) {
      each.clear();
    }
    memory.windows.clear();
    return undefined;
  },
  function failOver({ network, random, scheduler }) {
    const missed = network.snapshot();
    const offset = network.primary().offset + (random.next() - 0.5) * 10_000;
    const isPartitioned = random.happens(0.3);
    scheduler.after(random.next() ** 2 * 3_000, () => {
      network.failOver(missed, offset, isPartitioned);
    });
    return undefined;
  },
  function jumpingClock({ network, random }) {
    const size = random.happens(0.3) ? 20 : 1_000 + random.below(120_000);
    network.primary().offset += random.happens(0.5) ? size : -size;
    return undefined;
  },
];
