/** Decides in one serving thread whether the address of a request is blocked. */
import type { BlockList } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { ApiRequest } from '../http/message/responder.ts';
import { fullClientAddress } from '../limits/client-address.ts';
import { type AddressRanges, contains, countRanges } from './address-ranges.ts';

/** The error that requests of a blocked address get. */
export const BLOCKED_TEXT = 'This address is blocked';

/** The most addresses for which the decision is kept. */
const MOST_ADDRESSES = 10_000;

export interface BlockedAddresses {
  replace(ranges: AddressRanges): void;
  isBlocked(request: Pick<ApiRequest, 'socket'>, forwardedFor: string | undefined): boolean;
}

export function makeBlockedAddresses(trustedProxies: BlockList): BlockedAddresses {
  const decisions = new LRUCache<string, boolean>({ max: MOST_ADDRESSES });
  let ranges: AddressRanges | undefined;
  return {
    replace(next) {
      ranges = countRanges(next) === 0 ? undefined : next;
      decisions.clear();
    },
    isBlocked({ socket }, forwardedFor) {
      if (ranges === undefined) return false;
      const address = fullClientAddress(socket.remoteAddress, forwardedFor, trustedProxies);
      let decision = decisions.get(address);
      if (decision === undefined) {
        decision = contains(ranges, address);
        decisions.set(address, decision);
      }
      return decision;
    },
  };
}
