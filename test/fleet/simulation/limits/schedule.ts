/**
 * One simulated schedule: a fleet, random load and random faults, all from one seed. It checks the
 * promises of `proxy/limits/shared/shared-limits.ts` over the whole history.
 */
import { WINDOW_MS } from '../../../../proxy/limits/rolling-window.ts';
import { TOLERANCE_MS } from '../../../../proxy/limits/shared/store-clock.ts';
import { makeRandom, type Random } from '../../../catalogue/random.ts';
import { makeScheduler, type Scheduler } from '../scheduler.ts';
import { type Decision, type FleetParts, type SimulatedProxy, startProxy } from './fleet.ts';
import { makeNetwork } from './network.ts';

/** Clocks may differ by the tolerance, and by their drift within a minute. */
const CERTAIN_MS = WINDOW_MS - TOLERANCE_MS - 50;
/** After a fault, some requests may count twice for a minute. */
const SETTLED_MS = WINDOW_MS + 10_000;
/** The end of a schedule is without faults, so that everybody can recover. */
const CALM_MS = 75_000;
const OUTAGE_FROM_MS = 60_000;
const OUTAGE_MS = 3_600_000;
/** How long a schedule with an outage takes, with a minute before it and the calm end. */
export const OUTAGE_MINUTES = (OUTAGE_FROM_MS + OUTAGE_MS + CALM_MS) / 60_000;

export interface ScheduleOptions {
  readonly seed: number;
  readonly failure: 'local' | 'refuse';
  readonly minutes: number;
  readonly proxies: number;
  readonly keys: number;
  readonly limit: number;
  /** "outage": the store is gone for an hour. */
  readonly faults: 'none' | 'random' | 'outage';
}

export interface ScheduleResult {
  readonly violations: readonly string[];
  readonly byStore: number;
  readonly locally: number;
  readonly refused: number;
  readonly faults: readonly string[];
}

export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const random = makeRandom(options.seed);
  const scheduler = makeScheduler();
  const network = makeNetwork(scheduler, random);
  const decisions: Decision[] = [];
  const limits = Array.from({ length: options.keys }, (_, key) => Math.max(1, options.limit - key));
  const { failure } = options;
  const parts: FleetParts = {
    ...{ scheduler, network, random, failure, limits },
    decide: (decision) => void decisions.push(decision),
  };
  const proxies = Array.from({ length: options.proxies }, (_, i) => startProxy(parts, `p${i}`));
  const end = options.minutes * 60_000;
  addLoad(scheduler, random, proxies, limits, end);
  const faults = addFaults(options.faults, parts, proxies, end - CALM_MS);
  await scheduler.runUntil(end);

  const violations = proxies
    .filter(({ isAlive, fleet }) => isAlive && fleet.epoch() === undefined)
    .map(({ id, fleet }) => `${id} has not recovered: ${fleet.fault()}`);
  for (const [key, limit] of limits.entries()) {
    const own = decisions.filter((decision) => decision.key === key);
    violations.push(...check(own, limit, faults, failure).map((text) => `key ${key}: ${text}`));
  }
  const countOf = (kind: Decision['kind']) =>
    decisions.filter((decision) => decision.kind === kind).length;
  return {
    violations,
    byStore: countOf('admitted by store'),
    locally: countOf('admitted locally'),
    refused: countOf('refused by store'),
    faults: faults.map(({ from, name }) => `${(from / 1000).toFixed(1)} s: ${name}`),
  };
}

/** Requests come in bursts, now to one proxy, now to all. Some keys are over their limit, some are not. */
function addLoad(
  { after, now }: Scheduler,
  random: Random,
  proxies: readonly SimulatedProxy[],
  limits: readonly number[],
  end: number,
): void {
  function burst(key: number): void {
    const isOneSided = random.happens(0.3);
    const favourite = random.pick(proxies);
    const size = 1 + random.below(random.happens(0.2) ? limits[key] : 4);
    for (let i = 0; i < size; i++) {
      const target = isOneSided ? favourite : random.pick(proxies);
      after(random.next() * (random.happens(0.5) ? 5 : 2_000), () => target.request(key));
    }
    const pace = (60_000 / limits[key]) * size * (random.happens(0.5) ? 0.4 : 1.2);
    if (now() + pace < end) after(random.next() * 2 * pace, () => burst(key));
  }
  for (const key of limits.keys()) after(random.next() * 5_000, () => burst(key));
}

interface Fault {
  readonly name: string;
  readonly from: number;
  readonly until: number;
}

function addFaults(
  kind: ScheduleOptions['faults'],
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
    const proxy = startProxy(parts, `p${proxies.length}`);
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
  function restartedProxy(parts) {
    const proxy = alive(parts);
    if (proxy.isAlive) proxy.restart();
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

/** Checks the decisions about one key. */
function check(
  decisions: readonly Decision[],
  limit: number,
  faults: readonly Fault[],
  failure: 'local' | 'refuse',
): string[] {
  const admitted = decisions
    .filter(({ kind }) => kind !== 'refused by store')
    .toSorted((a, b) => a.time - b.time);
  const violations: string[] = [];
  let first = 0;
  for (const [last, { time }] of admitted.entries()) {
    while (time - admitted[first].time >= CERTAIN_MS) first++;
    const counted = admitted.slice(first, last + 1);
    const most = promised(counted, limit, failure);
    if (counted.length > most) {
      violations.push(
        `${counted.length} admitted in the minute to ${(time / 1000).toFixed(3)} s instead of at most ${most}`,
      );
    }
  }
  for (const [last, { kind, time }] of admitted.entries()) {
    if (kind !== 'admitted by store') continue;
    const counted = admitted.slice(0, last + 1).filter((each) => {
      return time - each.time < CERTAIN_MS && isKnownToStore(each, time, admitted);
    });
    if (counted.length > limit) {
      violations.push(
        `the store admitted at ${(time / 1000).toFixed(3)} s although ${counted.length} count`,
      );
    }
  }
  for (const { kind, time, proxy } of decisions) {
    if (kind !== 'refused by store') continue;
    if (faults.some(({ from, until }) => time >= from && time < until + SETTLED_MS)) continue;
    const counted = admitted.filter(
      (each) => each.time <= time && time - each.time < WINDOW_MS + 50,
    ).length;
    if (counted < limit) {
      violations.push(
        `${proxy} refused at ${(time / 1000).toFixed(3)} s although only ${counted} of ${limit} count`,
      );
    }
  }
  return violations;
}

/** Whether the proxy has asked the store since: before that, it must have reported the request. */
function isKnownToStore(
  { kind, proxy, time: admittedAt }: Decision,
  time: number,
  all: readonly Decision[],
): boolean {
  if (kind === 'admitted by store') return true;
  return all.some(
    (later) =>
      later.proxy === proxy &&
      later.kind === 'admitted by store' &&
      later.time > admittedAt &&
      later.time <= time,
  );
}

/** How many of these may be admitted: the limit, and the share of each proxy that decided alone. */
function promised(counted: readonly Decision[], limit: number, failure: string): number {
  if (failure === 'refuse') return limit;
  const shares = new Map<string, number>();
  for (const { kind, proxy, share } of counted) {
    if (kind !== 'admitted locally') continue;
    shares.set(proxy, Math.max(shares.get(proxy) ?? 0, share));
  }
  const alone = [...shares.values()].reduce((sum, share) => sum + share, 0);
  const isAllAlone = counted.every(({ kind }) => kind === 'admitted locally');
  return isAllAlone ? alone : limit + alone;
}
