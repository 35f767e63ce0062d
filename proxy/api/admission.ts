/** Whether a request is admitted: by its key, within the key's limit and that of its address. */
import type { BlockList } from 'node:net';
import type { ApiRequest } from '../http/message/responder.ts';
import type { PreparedResponse } from '../http/message/response.ts';
import type { Keys } from '../keys/key-table.ts';
import type { AddressLimits } from '../limits/address-limits.ts';
import { clientAddress } from '../limits/client-address.ts';
import type { Quota } from '../limits/rolling-window.ts';
import { ERRORS } from './send.ts';

/** A key admitted within this is in use: guessing from its address does not affect it. */
const IN_USE_MS = 10 * 60_000;

export interface AdmissionParts {
  readonly keys: Keys;
  readonly addresses: AddressLimits;
  readonly trustedProxies: BlockList;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

export interface Admission {
  readonly quota: Quota;
  /** Why the key is not accepted; undefined for a valid one. */
  readonly refusal: PreparedResponse | undefined;
}

export interface Admissions {
  /** Counts a request, of its key or else of its address. */
  admit(request: ApiRequest): Admission;
  /** What the address of a request that is not counted has left. */
  peek(request: ApiRequest): Quota;
}

export function makeAdmissions(parts: AdmissionParts): Admissions {
  const { keys, addresses, trustedProxies, now } = parts;
  const addressOf = ({ socket, head }: ApiRequest) =>
    clientAddress(socket.remoteAddress, head.forwardedFor, trustedProxies);

  function refuse(request: ApiRequest, time: number, refusal: PreparedResponse): Admission {
    return { quota: addresses.admit(addressOf(request), time), refusal };
  }

  function admitKey(request: ApiRequest, key: string, time: number): Admission {
    let record = keys.recent(key);
    const isInUse = record?.state === 'approved' && time - record.window.lastAdmitted() < IN_USE_MS;
    if (!isInUse) {
      // Guessing must be cheap to refuse: past the limit no key is looked up.
      const quota = addresses.peek(addressOf(request), time);
      if (!quota.admitted) return { quota, refusal: ERRORS.invalidKey };
      record ??= keys.find(key);
    }
    if (record?.state !== 'approved') return refuse(request, time, ERRORS.invalidKey);
    return { quota: keys.admit(record, time), refusal: undefined };
  }

  return {
    admit(request) {
      const { head } = request;
      const time = now();
      if (head.hasSeveralKeys) return refuse(request, time, ERRORS.severalKeys);
      if (head.key === undefined) return refuse(request, time, ERRORS.missingKey);
      return admitKey(request, head.key, time);
    },
    peek: (request) => addresses.peek(addressOf(request), now()),
  };
}
