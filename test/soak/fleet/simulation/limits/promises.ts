/**
 * Checks the promises of `proxy/limits/shared/shared-limits.ts` about one key, at each decision of a
 * proxy.
 */
import { WINDOW_MS } from '../../../../../proxy/limits/rolling-window.ts';
import { TOLERANCE_MS } from '../../../../../proxy/limits/shared/store-clock.ts';
import type { Fault } from './faults.ts';
import type { Decision } from './fleet.ts';

/** Clocks may differ by the tolerance, and by their drift within a minute. */
const CERTAIN_MS = WINDOW_MS - TOLERANCE_MS - 50;
/** After a fault, some requests may count twice for a minute. */
const SETTLED_MS = WINDOW_MS + 10_000;
/** By then, all proxies have heard what the store had admitted before. */
const HEARD_MS = 1_000;

export interface CheckOptions {
  readonly limit: number;
  readonly failure: 'local' | 'refuse';
  readonly faults: readonly Fault[];
  /** The true time. */
  readonly now: () => number;
  /** Called with a description of each broken promise. */
  readonly violated: (text: string) => void;
}

export interface Checks {
  /** Checks everything that a new decision affects. */
  add(decision: Decision): void;
  /** Checks what had to wait. */
  end(): void;
}

export function makeChecks({ limit, failure, faults, now, violated }: CheckOptions): Checks {
  /** In the order of their times. A proxy hears only later what the store has admitted. */
  const admitted: Decision[] = [];
  /** The refusals that are not checked yet. */
  const refusals: Decision[] = [];

  function insert(decision: Decision): number {
    let at = admitted.length;
    while (at > 0 && admitted[at - 1].time > decision.time) at--;
    admitted.splice(at, 0, decision);
    return at;
  }

  /** Checks the minute that ends with an admission. */
  function checkMinute(last: number): void {
    const { time, kind } = admitted[last];
    let first = last;
    while (first > 0 && time - admitted[first - 1].time < CERTAIN_MS) first--;
    const counted = admitted.slice(first, last + 1);
    const at = `${(time / 1000).toFixed(3)} s`;
    const most = promised(counted, limit, failure);
    if (counted.length > most) {
      violated(`${counted.length} admitted in the minute to ${at} instead of at most ${most}`);
    }
    if (kind !== 'admitted by store') return;
    const known = countKnown(counted);
    if (known > limit) violated(`the store admitted at ${at} although ${known} count`);
  }

  function checkRefusal({ time, proxy }: Decision): void {
    if (faults.some(({ from, until }) => time >= from && time < until + SETTLED_MS)) return;
    const isCounted = (each: Decision) => each.time <= time && time - each.time < WINDOW_MS + 50;
    const counted = admitted.filter(isCounted).length;
    if (counted >= limit) return;
    violated(
      `${proxy} refused at ${(time / 1000).toFixed(3)} s although only ${counted} of ${limit} count`,
    );
  }

  function checkRefusals(before: number): void {
    while (refusals.length > 0 && refusals[0].time <= before) {
      checkRefusal(refusals.shift() as Decision);
    }
  }

  return {
    add(decision) {
      checkRefusals(now() - HEARD_MS);
      if (decision.kind === 'refused by store') {
        refusals.push(decision);
        return;
      }
      const at = insert(decision);
      for (let last = at; last < admitted.length; last++) {
        if (admitted[last].time - decision.time >= CERTAIN_MS) break;
        checkMinute(last);
      }
    },
    end: () => checkRefusals(Number.POSITIVE_INFINITY),
  };
}

/**
 * How many of these requests, in the order of their times, the store knew when it admitted the last one.
 * It knows of a local admission once the proxy has asked it again: before that, the proxy must have
 * reported the request.
 */
function countKnown(counted: readonly Decision[]): number {
  const lastAsked = new Map<string, number>();
  let known = 0;
  for (const { kind, proxy, time } of counted.toReversed()) {
    if (kind === 'admitted by store') {
      known++;
      if (!lastAsked.has(proxy)) lastAsked.set(proxy, time);
    } else if ((lastAsked.get(proxy) ?? time) > time) known++;
  }
  return known;
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
