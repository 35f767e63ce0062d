/**
 * Decides whether a request is admitted, like `admission.ts`, but by limits that the fleet shares. The
 * store answers later, so each decision is passed to a function.
 *
 * Invariant: a client that sends many guesses at once learns nothing from those beyond the limit of its
 * address. So a key that is not in use is admitted only if the address had anything left after all
 * guesses that came before it, which one call of the store decides.
 */

import { clientAddress } from '../../program/client-address.ts';
import type { ApiRequest } from '../http/message/responder.ts';
import type { PreparedResponse } from '../http/message/response.ts';
import { isValid, type KeyRecord } from '../keys/key-table.ts';
import type { Quota } from '../limits/rolling-window.ts';
import { addressWindowName, keyWindowName } from '../limits/shared/own-windows.ts';
import type { FleetWindow, Question } from '../limits/shared/waiting-rows.ts';
import { type Admission, type AdmissionParts, isInUse } from './admission.ts';
import { ERRORS, RETRY_SOON_SECONDS } from './send.ts';

export interface SharedAdmissions {
  /** Counts a request towards the limit of its key or, without a valid key, of its address. */
  admit(request: ApiRequest, time: number, done: (admission: Admission) => void): void;
  /** Finds what the address of a request has left, without counting the request. */
  peek(request: ApiRequest, done: (quota: Quota) => void): void;
}

export function makeSharedAdmissions(
  parts: AdmissionParts,
  ask: (question: Question) => void,
): SharedAdmissions {
  const { keys, addresses, trustedProxies } = parts;
  const windows = new WeakMap<KeyRecord, FleetWindow>();

  function windowOf(record: KeyRecord): FleetWindow {
    const known = windows.get(record);
    if (known !== undefined) return known;
    const window: FleetWindow = {
      name: keyWindowName(record.id),
      admit: (limit, time) => keys.admit(record, time, limit),
      peek() {
        throw new Error('Only what an address has left is asked for without counting.');
      },
      record: (time) => keys.record(record, time),
    };
    windows.set(record, window);
    return window;
  }

  function addressOf({ socket, head }: ApiRequest): FleetWindow {
    const address = clientAddress(socket.remoteAddress, head.forwardedFor, trustedProxies);
    return {
      name: addressWindowName(addresses.tagOf(address)),
      admit: (limit, time) => addresses.admit(address, time, limit),
      peek: (limit, time) => addresses.peek(address, time, limit),
      record: (time) => addresses.record(address, time),
    };
  }

  function refuse(
    request: ApiRequest,
    refusal: PreparedResponse,
    done: (admission: Admission) => void,
  ): void {
    const { limit } = addresses;
    ask({
      window: addressOf(request),
      limit,
      isPeek: false,
      done: (quota) =>
        done(quota === undefined ? unavailable(limit) : { quota, key: undefined, refusal }),
    });
  }

  function admitKey(
    request: ApiRequest,
    key: string,
    time: number,
    done: (admission: Admission) => void,
  ): void {
    const record = keys.recent(key) ?? keys.find(key);
    const isUsed = record !== undefined && isInUse(record, time);
    if (record === undefined || !isValid(record)) {
      refuse(request, ERRORS.invalidKey, done);
      return;
    }
    const { limit } = record;
    const guard = isUsed ? undefined : { window: addressOf(request), limit: addresses.limit };
    ask({
      window: windowOf(record),
      limit,
      isPeek: false,
      guard,
      done(quota, isGuarded) {
        if (quota === undefined) done(unavailable(limit, record));
        else if (isGuarded) done({ quota, key: undefined, refusal: ERRORS.invalidKey });
        else done({ quota, key: record, refusal: undefined });
      },
    });
  }

  return {
    admit(request, time, done) {
      const { head } = request;
      if (head.hasSeveralKeys) refuse(request, ERRORS.severalKeys, done);
      else if (head.hasMisplacedKey) refuse(request, ERRORS.misplacedKey, done);
      else if (head.key === undefined) refuse(request, ERRORS.missingKey, done);
      else admitKey(request, head.key, time, done);
    },
    peek(request, done) {
      const { limit } = addresses;
      ask({
        window: addressOf(request),
        limit,
        isPeek: true,
        done: (quota) => done(quota ?? unavailable(limit).quota),
      });
    },
  };
}

/** The request is not over its limit, but nobody knows how many requests count. */
function unavailable(limit: number, key?: KeyRecord): Admission {
  const quota = { admitted: true, limit, remaining: 0, resetSeconds: RETRY_SOON_SECONDS };
  return { quota, key, refusal: ERRORS.noLimits };
}
