/**
 * Decides whether a request is admitted: it needs a valid key that is within its limit. Requests
 * without one are limited by client address.
 *
 * Invariant: a client that guesses keys learns nothing from guesses beyond the limit of its address. So a
 * key that is not in use is admitted only if its address has anything left.
 */
import type { BlockList } from 'node:net';
import { clientAddress } from '../../program/client-address.ts';
import type { ApiRequest } from '../http/request.ts';
import { isValid, type KeyRecord, type Keys } from '../keys/key-table.ts';
import type { AddressLimits } from '../limits/address-limits.ts';
import type { Claim, Limiter, Quota, Taken } from '../limits/rolling-window.ts';
import { type Answer, ERRORS, RETRY_SOON_SECONDS } from './send.ts';

/**
 * A key is in use if a request with it was admitted this recently. Such a key keeps working when
 * somebody behind the same address guesses keys and uses up the address's limit.
 */
const IN_USE_MS = 10 * 60_000;

export interface AdmissionParts {
  readonly keys: Keys;
  readonly addresses: AddressLimits;
  readonly limiter: Limiter;
  readonly trustedProxies: BlockList;
}

export interface Admission {
  readonly quota: Quota;
  /** The valid key whose limit the quota describes; undefined if it describes that of the address. */
  readonly key: KeyRecord | undefined;
  /** The answer that says why the request is not served; undefined for a valid key. */
  readonly refusal: Answer | undefined;
}

/** Each time is on the monotonic clock of the windows, in milliseconds. */
export interface Admissions {
  /** Counts a request towards the limit of its key or, without a valid key, of its address. */
  admit(request: ApiRequest, time: number): Admission | Promise<Admission>;
  /** Finds what the address of a request has left, without counting the request. */
  peek(request: ApiRequest, time: number): Admission | Promise<Admission>;
}

export function makeAdmissions(parts: AdmissionParts): Admissions {
  const { keys, addresses, limiter, trustedProxies } = parts;

  function claimOfAddress({ socket, head }: ApiRequest, isCounted: boolean): Claim {
    const address = clientAddress(socket.remoteAddress, head.forwardedFor, trustedProxies);
    const window = addresses.windowOf(address);
    return { name: `a${address}`, window, limit: addresses.limit, isCounted };
  }

  /** Takes the claims of a request. @param key valid @param refusal of a request without one */
  function take(
    claims: readonly Claim[],
    time: number,
    key: KeyRecord | undefined,
    refusal: Answer | undefined,
  ): Admission | Promise<Admission> {
    const last = claims[claims.length - 1];

    function conclude(taken: Taken): Admission {
      if (taken === undefined) {
        // The request is not over its limit, but nobody knows how many requests count.
        const { limit } = last;
        const quota = { admitted: true, limit, remaining: 0, resetSeconds: RETRY_SOON_SECONDS };
        return { quota, key, refusal: ERRORS.noLimits };
      }
      const { quota, claim } = taken;
      return claim === last
        ? { quota, key, refusal }
        : { quota, key: undefined, refusal: ERRORS.invalidKey };
    }

    const taken = limiter.take(claims, time);
    return taken instanceof Promise ? taken.then(conclude) : conclude(taken);
  }

  function refuse(request: ApiRequest, time: number, refusal: Answer) {
    return take([claimOfAddress(request, true)], time, undefined, refusal);
  }

  return {
    admit(request, time) {
      const { key, hasSeveralKeys, hasMisplacedKey } = request.head;
      if (hasSeveralKeys) return refuse(request, time, ERRORS.severalKeys);
      if (hasMisplacedKey) return refuse(request, time, ERRORS.misplacedKey);
      if (key === undefined) return refuse(request, time, ERRORS.missingKey);
      const record = keys.find(key);
      if (record === undefined || !isValid(record)) {
        return refuse(request, time, ERRORS.invalidKey);
      }
      const { windowName: name, window, limit } = record;
      const claim: Claim = { name, window, limit, isCounted: true };
      const isInUse = time - window.lastAdmitted() < IN_USE_MS;
      const claims = isInUse ? [claim] : [claimOfAddress(request, false), claim];
      return take(claims, time, record, undefined);
    },
    peek: (request, time) => take([claimOfAddress(request, false)], time, undefined, undefined),
  };
}
