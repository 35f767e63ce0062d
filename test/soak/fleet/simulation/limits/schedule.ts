/**
 * One simulated schedule: a fleet, random load and random faults, all from one seed. The promises of the
 * shared limits are checked at each decision, and the schedule ends when one is broken.
 */
import { makeRandom } from '../../../../catalogue/random.ts';
import { makeScheduler } from '../scheduler.ts';
import { addFaults, type Fault, type FaultKind, OUTAGE_FROM_MS, OUTAGE_MS } from './faults.ts';
import { type Decision, type FleetParts, startProxyProgram } from './fleet.ts';
import { addBursts, addPatientClient } from './load.ts';
import { makeNetwork } from './network.ts';
import { makeChecks } from './promises.ts';

/** The end of a schedule is without faults, so that everybody can recover. */
const CALM_MS = 75_000;
/** How long a schedule with an outage takes, with a minute before it and the calm end. */
export const OUTAGE_MINUTES = (OUTAGE_FROM_MS + OUTAGE_MS + CALM_MS) / 60_000;

export interface ScheduleOptions {
  readonly seed: number;
  readonly failure: 'local' | 'refuse';
  readonly minutes: number;
  readonly proxies: number;
  readonly keys: number;
  readonly limit: number;
  readonly faults: FaultKind;
}

export interface ScheduleResult {
  /** Descriptions of the broken promises. */
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
  const { failure, keys } = options;
  const limits = Array.from({ length: keys }, (_, key) => Math.max(1, options.limit - key));
  // A further key, which only the patient client has.
  if (options.faults === 'none') limits.push(options.limit);
  const faults: Fault[] = [];
  const violations: string[] = [];
  const counts = { 'admitted by store': 0, 'admitted locally': 0, 'refused by store': 0 };
  const checks = limits.map((limit, key) =>
    makeChecks({
      limit,
      failure,
      faults,
      now: scheduler.now,
      violated: (text) => violations.push(`key ${key}: ${text}`),
    }),
  );
  const decide = (decision: Decision) => {
    counts[decision.kind]++;
    checks[decision.key].add(decision);
  };
  const parts: FleetParts = { scheduler, network, random, failure, limits, decide };
  const proxies = Array.from({ length: options.proxies }, (_, i) =>
    startProxyProgram(parts, `p${i}`),
  );
  const end = options.minutes * 60_000;
  const load = { scheduler, random, proxies, end };
  for (let key = 0; key < keys; key++) addBursts(load, key, limits[key]);
  if (options.faults === 'none') {
    addPatientClient(load, keys, (text) => violations.push(`key ${keys}: ${text}`));
  }
  faults.push(...addFaults(options.faults, parts, proxies, end - CALM_MS));
  await scheduler.runUntil(end, () => violations.length > 0);

  if (violations.length === 0) {
    for (const check of checks) check.end();
    for (const { id, isAlive, fleet } of proxies) {
      const isReady = !isAlive || fleet.epoch() !== undefined;
      if (!isReady) violations.push(`${id} has not recovered: ${fleet.fault()}`);
    }
  }
  return {
    violations,
    byStore: counts['admitted by store'],
    locally: counts['admitted locally'],
    refused: counts['refused by store'],
    faults: faults.map(({ from, name }) => `${(from / 1000).toFixed(1)} s: ${name}`),
  };
}
