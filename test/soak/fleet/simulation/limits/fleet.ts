/**
 * The proxies of a simulated fleet: the real limiter with the real windows, on simulated clocks, links
 * and event loops. Notes the true time of everything that they admit and refuse.
 */
import {
  makeRollingWindow,
  type Quota,
  type RollingWindow,
} from '../../../../../proxy/limits/rolling-window.ts';
import type { Surroundings } from '../../../../../proxy/limits/shared/connection.ts';
import { makeLimitCells, newLimitCells } from '../../../../../proxy/limits/shared/counts.ts';
import { type Fleet, makeFleet } from '../../../../../proxy/limits/shared/fleet.ts';
import {
  type Failure,
  makeSharedLimits,
} from '../../../../../proxy/limits/shared/shared-limits.ts';
import type { FleetWindow } from '../../../../../proxy/limits/shared/waiting-rows.ts';
import type { Random } from '../../../../catalogue/random.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Link, Network } from './network.ts';

/** Something that a proxy has decided, in true time. */
export interface Decision {
  readonly key: number;
  readonly time: number;
  readonly proxy: string;
  readonly kind: 'admitted by store' | 'admitted locally' | 'refused by store';
  /** For a local admission, the share of the proxy. */
  readonly share: number;
}

type Done = (quota: Quota | undefined) => void;

export interface SimulatedProxy {
  readonly id: string;
  readonly link: Link;
  isAlive: boolean;
  /** The event loop of the proxy is blocked until this time. */
  pausedUntil: number;
  fleet: Fleet;
  /**
   * Sends a request with a key.
   * @param done as in `Question`
   */
  request(key: number, done?: Done): void;
  /** Ends at once, without reporting anything. */
  crash(): void;
}

export interface FleetParts {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly random: Random;
  readonly failure: Failure;
  /** The limit of each key. */
  readonly limits: readonly number[];
  readonly decide: (decision: Decision) => void;
}

export function startProxyProgram(parts: FleetParts, name: string): SimulatedProxy {
  const { scheduler, network, random, failure, limits, decide } = parts;
  const [offset, drift] = [random.next() * 1e6, (random.next() - 0.5) * 2e-4];
  const now = () => scheduler.now() * (1 + drift) + offset;
  const usualLatency = 0.2 + random.next() * 2;
  const link: Link = { state: 'up', latency: usualLatency, usualLatency };
  let runs = 0;
  let connection: ReturnType<Network['connect']>;
  const rings: RollingWindow[] = limits.map((limit) => makeRollingWindow(limit));
  let ask: (key: number, done?: Done) => void = () => {};

  /** Calls a function later, but not while the event loop is blocked or after the run has ended. */
  function later(run: number, milliseconds: number, work: () => void): () => void {
    let cancel = scheduler.after(milliseconds, () => {
      if (!proxy.isAlive || run !== runs) return;
      const wait = proxy.pausedUntil - scheduler.now();
      if (wait > 0) cancel = later(run, wait, work);
      else work();
    });
    return () => cancel();
  }

  function windowOf(key: number, fleet: () => Fleet): FleetWindow {
    const ring = rings[key];
    const note = (kind: Decision['kind'], time: number, share = 0) =>
      decide({ key, time, proxy: name, kind, share });
    return {
      name: `k${key}`,
      admit(limit, time) {
        const quota = ring.admit(limit, time);
        if (quota === undefined) throw new Error('the window was moved');
        const share = Math.max(1, Math.floor(limits[key] / fleet().proxies()));
        if (quota.admitted) note('admitted locally', scheduler.now(), share);
        return quota;
      },
      peek() {
        throw new Error('no request of the simulation peeks');
      },
      record(time) {
        ring.record(time);
        note('admitted by store', network.processedAt());
      },
    };
  }

  function start(): void {
    const run = ++runs;
    const surroundings: Surroundings = {
      now,
      defer: (work) => void later(run, 0, work),
      after: (milliseconds, work) => later(run, milliseconds, work),
      randomText: () => `r${random.below(2 ** 32).toString(36)}${random.below(2 ** 32)}`,
    };
    connection = network.connect(link, () => proxy.pausedUntil);
    const windows = {
      all: (time: number) =>
        rings.map((ring, key) => ({ name: `k${key}`, times: ring.times(time) })),
      useSeed: () => {},
    };
    const fleet = makeFleet({
      connection,
      surroundings,
      proxy: name,
      windows,
      onChange: () => shared.onChange(),
    });
    const counts = makeLimitCells(newLimitCells());
    const shared = makeSharedLimits({ fleet: () => fleet, surroundings, failure, counts });
    const ownWindows = limits.map((_, key) => windowOf(key, () => fleet));
    ask = (key, heard) => {
      const wasReady = fleet.epoch() !== undefined;
      shared.ask({
        window: ownWindows[key],
        limit: limits[key],
        isPeek: false,
        done(quota) {
          heard?.(quota);
          const isByStore = wasReady && fleet.epoch() !== undefined;
          if (quota === undefined || quota.admitted || !isByStore) return;
          const time = network.processedAt();
          decide({ key, time, proxy: name, kind: 'refused by store', share: 0 });
        },
      });
    };
    proxy.fleet = fleet;
    void fleet.start();
  }

  const proxy: SimulatedProxy = {
    id: name,
    link,
    isAlive: true,
    pausedUntil: 0,
    fleet: undefined as never,
    request(key, done) {
      later(runs, 0, () => ask(key, done));
    },
    crash() {
      proxy.isAlive = false;
      connection.crash();
    },
  };
  start();
  return proxy;
}
