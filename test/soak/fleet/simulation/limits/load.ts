/** What clients do in a schedule. */
import type { Random } from '../../../../catalogue/random.ts';
import type { Scheduler } from '../scheduler.ts';
import type { SimulatedProxy } from './fleet.ts';

/** While the fleet is not ready, a client tries again after this time. */
const NOT_READY_MS = 500;

export interface LoadOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** May grow while the schedule runs. */
  readonly proxies: readonly SimulatedProxy[];
  /** When the schedule ends. */
  readonly end: number;
}

/** Requests with a key in bursts, now to one proxy, now to all; sometimes more than its limit allows. */
export function addBursts(
  { scheduler: { after, now }, random, proxies, end }: LoadOptions,
  key: number,
  limit: number,
): void {
  function burst(): void {
    const isOneSided = random.happens(0.3);
    const favourite = random.pick(proxies);
    const size = 1 + random.below(random.happens(0.2) ? limit : 4);
    for (let i = 0; i < size; i++) {
      const target = isOneSided ? favourite : random.pick(proxies);
      after(random.next() * (random.happens(0.5) ? 5 : 2_000), () => target.request(key));
    }
    const pace = (60_000 / limit) * size * (random.happens(0.5) ? 0.4 : 1.2);
    if (now() + pace < end) after(random.next() * 2 * pace, burst);
  }
  after(random.next() * 5_000, burst);
}

/**
 * Uses up the limit of a key, waits for the time in `Retry-After`, and continues.
 * @param violated called if it is refused again after it has waited
 */
export function addPatientClient(
  { scheduler: { after, now }, random, proxies }: LoadOptions,
  key: number,
  violated: (text: string) => void,
): void {
  let waited = 0;
  function ask(): void {
    random.pick(proxies).request(key, (quota) => {
      if (quota === undefined) after(NOT_READY_MS, ask);
      else if (quota.admitted) {
        waited = 0;
        after(random.next() * 200, ask);
      } else {
        if (waited > 0) violated(`refused at ${now() / 1000} s, ${waited} s after a refusal`);
        waited = quota.resetSeconds;
        after(waited * 1000, ask);
      }
    });
  }
  ask();
}
