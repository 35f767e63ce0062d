/**
 * Decides whether a request is admitted: it needs a valid key that is within its limit. Requests
 * without one are limited by client address.
 */
import type { BlockList } from 'node:net';
import { clientAddress } from '../../program/client-address.ts';
import type { ApiRequest } from '../http/message/responder.ts';
import type { PreparedResponse } from '../http/message/response.ts';
import { isValid, type KeyRecord, type Keys } from '../keys/key-table.ts';
import type { AddressLimits } from '../limits/address-limits.ts';
import type { Quota } from '../limits/rolling-window.ts';
import { ERRORS } from './send.ts';

/**
 * A key is in use if a request with it was admitted this recently. Such a key keeps working when
 * somebody behind the same address guesses keys and uses up the address's limit.
 */
const IN_USE_MS = 10 * 60_000;

export interface AdmissionParts {
  readonly keys: Keys;
  readonly addresses: AddressLimits;
  readonly trustedProxies: BlockList;
}

export interface Admission {
  readonly quota: Quota;
  /** The valid key whose limit the quota describes; undefined if it describes that of the address. */
  readonly key: KeyRecord | undefined;
  /** The response that says why the request is not served; undefined for a valid key. */
  readonly refusal: PreparedResponse | undefined;
}

/** Each time is on the monotonic clock of the windows, in milliseconds. */
export interface Admissions {
  /** Counts a request towards the limit of its key or, without a valid key, of its address. */
  admit(request: ApiRequest, time: number): Admission;
  /** Returns what the address of a request has left, without counting the request. */
  peek(request: ApiRequest, time: number): Quota;
}

/** Whether a key keeps working when its address is over its limit. */
export function isInUse(record: KeyRecord, time: number): boolean {
  return isValid(record) && time - record.window.lastAdmitted() < IN_USE_MS;
}

export function makeAdmissions(parts: AdmissionParts): Admissions {
  const { keys, addresses, trustedProxies } = parts;
  const addressOf = ({ socket, head }: ApiRequest) =>
    clientAddress(socket.remoteAddress, head.forwardedFor, trustedProxies);

  function refuse(request: ApiRequest, time: number, refusal: PreparedResponse): Admission {
    return { quota: addresses.admit(addressOf(request), time), key: undefined, refusal };
  }

  function admitKey(request: ApiRequest, key: string, time: number): Admission {
    const record = keys.recent(key) ?? keys.find(key);
    if (record === undefined || !isInUse(record, time)) {
      const quota = addresses.peek(addressOf(request), time);
      if (!quota.admitted) return { quota, key: undefined, refusal: ERRORS.invalidKey };
    }
    if (record === undefined || !isValid(record)) {
      return refuse(request, time, ERRORS.invalidKey);
    }
    return { quota: keys.admit(record, time), key: record, refusal: undefined };
  }

  return {
    admit(request, time) {
      const { head } = request;
      if (head.hasSeveralKeys) return refuse(request, time, ERRORS.severalKeys);
      if (head.hasMisplacedKey) return refuse(request, time, ERRORS.misplacedKey);
      if (head.key === undefined) return refuse(request, time, ERRORS.missingKey);
      return admitKey(request, head.key, time);
    },
    peek: (request, time) => addresses.peek(addressOf(request), time),
  };
}
