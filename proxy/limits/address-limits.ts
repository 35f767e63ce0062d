/**
 * The limit on requests without a valid key, per client address: what makes guessing keys slow.
 * Bounded in memory: past the cap the address that was quiet the longest is forgotten.
 */
import { LRUCache } from 'lru-cache';
import { makeRollingWindow, type Quota, type RollingWindow } from './rolling-window.ts';

const MOST_ADDRESSES = 50_000;

export interface AddressLimits {
  /** Counts a request without a valid key. */
  admit(address: string, now: number): Quota;
  /** Says what an address has left without counting anything. */
  peek(address: string, now: number): Quota;
}

/** @param limit requests in any 60 seconds from one address */
export function makeAddressLimits(limit: number): AddressLimits {
  const windows = new LRUCache<string, RollingWindow>({ max: MOST_ADDRESSES });
  const unused = makeRollingWindow();
  return {
    admit(address, now) {
      let window = windows.get(address);
      if (window === undefined) {
        window = makeRollingWindow();
        windows.set(address, window);
      }
      return window.admit(limit, now);
    },
    peek(address, now) {
      return (windows.get(address) ?? unused).peek(limit, now);
    },
  };
}
