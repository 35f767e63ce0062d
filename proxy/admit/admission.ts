/**
 * Decides whether a request is admitted: it needs a valid key that is within its limit. Requests
 * without one are limited by client address.
 *
 * Invariant: a client that guesses keys learns nothing from guesses beyond the limit of its address. So a
 * key that is not in use is admitted only if its address has anything left.
 */
import type { BlockList } from 'node:net';
import { clientAddress } from '../../lib/program/client-address.ts';
import type { ApiRequest, RequestHead } from '../http/request.ts';
import { isValid, type KeyRecord, type KeyTable } from './keys/key-table.ts';
import type { AddressLimits } from './limits/address-limits.ts';
import type { Claim, Limiter, Quota, Taken } from './limits/rolling-window.ts';

/**
 * A key is in use if a request with it was admitted this recently. Such a key keeps working when
 * somebody behind the same address guesses keys and uses up the address's limit.
 */
const IN_USE_MS = 10 * 60_000;

/** After which time a client may ask again, if nobody knows how many of its requests count. */
export const RETRY_SOON_SECONDS = 5;

/** Why a request is not admitted. */
export const ADMISSION_REFUSALS = [
  'missing_key',
  'misplaced_key',
  'several_keys',
  'invalid_key',
  'key_limit',
  'address_limit',
  'limits_unavailable',
] as const;
export type AdmissionRefusal = (typeof ADMISSION_REFUSALS)[number];

export interface AdmissionParts {
  readonly keys: Pick<KeyTable, 'find' | 'size'>;
  readonly addresses: AddressLimits;
  readonly limiter: Limiter;
  readonly trustedProxies: BlockList;
}

export interface Admission {
  readonly quota: Quota;
  /** The valid key whose limit the quota describes; undefined if it describes that of the address. */
  readonly key: KeyRecord | undefined;
  /** Undefined if the request is admitted. */
  readonly refusal: AdmissionRefusal | undefined;
}

/**
 * Counts a request towards the limit of its key or, without a valid key, of its address.
 * @param time on the monotonic clock of the windows, in milliseconds
 * @param isCounted false for a request that needs no admission: only the quota of its address is looked up
 */
export type Admit = (
  request: ApiRequest,
  time: number,
  isCounted: boolean,
) => Admission | Promise<Admission>;

export function makeAdmit({ keys, addresses, limiter, trustedProxies }: AdmissionParts): Admit {
  function claimOfAddress({ socket, head }: ApiRequest, isCounted: boolean): Claim {
    const address = clientAddress(socket.remoteAddress, head.forwardedFor, trustedProxies);
    const window = addresses.windowOf(address);
    return { name: `a${address}`, window, limit: addresses.limit, isCounted };
  }

  function validKeyOf({ key, hasMisplacedKey }: RequestHead): KeyRecord | undefined {
    if (key === undefined || hasMisplacedKey) return undefined;
    const record = keys.find(key);
    return record !== undefined && isValid(record) ? record : undefined;
  }

  return (request, time, isCounted) => {
    const key = isCounted ? validKeyOf(request.head) : undefined;
    const refusal = isCounted && key === undefined ? faultOfKey(request.head) : undefined;
    const last: Claim =
      key === undefined
        ? claimOfAddress(request, isCounted)
        : { name: key.windowName, window: key.window, limit: key.limit, isCounted: true };
    const isGuess = key !== undefined && time - key.window.lastAdmitted() >= IN_USE_MS;

    function conclude(taken: Taken): Admission {
      if (taken === undefined) {
        // The request is not over its limit, but nobody knows how many requests count.
        const { limit } = last;
        const quota = { admitted: true, limit, remaining: 0, resetSeconds: RETRY_SOON_SECONDS };
        return { quota, key, refusal: isCounted ? 'limits_unavailable' : undefined };
      }
      const { quota, claim } = taken;
      const counted = claim === last ? key : undefined;
      if (counted !== undefined) counted.usage[quota.admitted ? 'requests' : 'refused']++;
      if (quota.admitted || !isCounted) return { quota, key: counted, refusal };
      return { quota, key: counted, refusal: counted ? 'key_limit' : 'address_limit' };
    }

    const taken = limiter.take(isGuess ? [claimOfAddress(request, false), last] : [last], time);
    return taken instanceof Promise ? taken.then(conclude) : conclude(taken);
  };
}

/** What is wrong with the key of a request that has no valid one. */
function faultOfKey({ key, hasSeveralKeys, hasMisplacedKey }: RequestHead): AdmissionRefusal {
  if (hasSeveralKeys) return 'several_keys';
  if (hasMisplacedKey) return 'misplaced_key';
  return key === undefined ? 'missing_key' : 'invalid_key';
}
