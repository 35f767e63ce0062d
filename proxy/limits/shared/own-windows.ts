/**
 * The windows of this process by their names in the fleet: "k" and the id of a key, or "a" and the hash
 * of an address. Neither keys nor addresses are sent to the store.
 */
import type { AddressLimits } from '../address-limits.ts';
import type { RollingWindow } from '../rolling-window.ts';
import type { OwnWindows } from './fleet.ts';

interface WindowOfKey {
  readonly id: number;
  readonly window: Pick<RollingWindow, 'times'>;
}

export function keyWindowName(id: number): string {
  return `k${id}`;
}

export function addressWindowName(tag: number): string {
  return `a${tag.toString(36)}`;
}

export function makeOwnWindows(
  keys: () => Iterable<WindowOfKey>,
  addresses: AddressLimits,
): OwnWindows {
  return {
    *all(now) {
      for (const { id, window } of keys()) {
        const times = window.times(now);
        if (times.length > 0) yield { name: keyWindowName(id), times };
      }
      for (const { tag, times } of addresses.windows(now)) {
        yield { name: addressWindowName(tag), times };
      }
    },
    useSeed(seed) {
      const [first, second] = [seed.slice(0, 8), seed.slice(8, 16)];
      addresses.useSeed([Number.parseInt(first, 16) >>> 0, Number.parseInt(second, 16) >>> 0]);
    },
  };
}
