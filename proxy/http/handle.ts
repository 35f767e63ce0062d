/**
 * One request under the base, in the order of checks of the contract: well-formed, method, key,
 * limit, route, parameters, resource, condition. Each check answers or hands on.
 */
import type { BlockList } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RequestCounts } from '../admin/metrics.ts';
import type { KeyRecord, Keys } from '../keys/key-table.ts';
import type { AddressLimits } from '../limits/address-limits.ts';
import { clientAddress } from '../limits/client-address.ts';
import type { Quota } from '../limits/rolling-window.ts';
import type { Generation } from '../snapshot/generation.ts';
import { PackGoneError } from '../snapshot/pack-files.ts';
import type { ThreadGenerations } from '../snapshot/thread-generations.ts';
import { makeDoorkeeper } from './admission-filter.ts';
import { chooseCoding } from './negotiation.ts';
import { ParameterError } from './parameters.ts';
import type { RequestHead } from './request-head.ts';
import { makeResource, type Resource } from './resource.ts';
import type { ApiHandler } from './responder.ts';
import { type Finder, matchRoute, type RouteName, splitTarget } from './routes.ts';
import { ALLOWED_METHODS, type Reply, sendError, sendPreflight, sendResource } from './send.ts';

/** A key admitted within this is in use: guessing from its address does not touch it. */
const IN_USE_MS = 10 * 60_000;
/** Room for bodies that were sent lately, in bytes. */
const HOT_BYTES = 24 * 1024 * 1024;
/** About what an entry costs besides its body. */
const ENTRY_BYTES = 400;
/** Longer targets are hardly asked for twice. */
const LONGEST_HOT_TARGET = 512;
const NO_SNAPSHOT = 'No snapshot yet';
const NO_KEYS = 'No API keys yet';

export interface ApiParts {
  readonly snapshots: ThreadGenerations;
  readonly keys: Keys;
  readonly addresses: AddressLimits;
  readonly trustedProxies: BlockList;
  readonly counts: RequestCounts;
  readonly log: Logger;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

interface HotResource {
  readonly route: RouteName;
  readonly resource: Resource;
}

type Admission =
  | { readonly record: KeyRecord; readonly quota: Quota }
  | { readonly record?: undefined; readonly quota: Quota; readonly refusal: string };

/** What metrics call a request that ended before its route was known. */
export type RouteLabel = RouteName | 'none';

/** @returns the handler of requests under the base */
export function makeApi(parts: ApiParts): ApiHandler {
  const { snapshots, keys, addresses, counts, log, now } = parts;
  // The id only: a reference to the generation would keep it in memory.
  let hotOf: string | undefined;
  let hot = makeHot();
  const doorkeeper = makeDoorkeeper();

  return function handleApi({ method, socket, head, target }, response): void {
    const address = () =>
      clientAddress(socket.remoteAddress, head.forwardedFor, parts.trustedProxies);
    const early = () => ({ response, quota: addresses.peek(address(), now()) });
    if (head.fault !== undefined) {
      counts.count('none', sendError(early(), 400, head.fault, '', true));
      return;
    }
    if (method !== 'GET' && method !== 'HEAD') {
      const isPreflight = method === 'OPTIONS';
      counts.count('none', isPreflight ? sendPreflight(early()) : refuseMethod(early()));
      return;
    }
    if (head.key !== undefined && !head.hasSeveralKeys && keys.size() === undefined) {
      const isMissing = snapshots.current() === undefined;
      counts.count('none', refuseUnready(early(), isMissing ? NO_SNAPSHOT : NO_KEYS));
      return;
    }
    const admission = admit(head, address);
    const reply: Reply = { response, quota: admission.quota };
    if (admission.record === undefined) {
      counts.count('none', refuseUnauthorized(reply, admission.refusal));
    } else if (!admission.quota.admitted) {
      counts.count('none', refuseOverLimit(reply));
    } else {
      try {
        answer(reply, head, target);
      } catch (error) {
        fail(reply, 'none', error);
      }
    }
  };

  function admit(head: RequestHead, address: () => string): Admission {
    const time = now();
    const refuse = (refusal: string): Admission => ({
      quota: addresses.admit(address(), time),
      refusal,
    });
    if (head.hasSeveralKeys) return refuse('Send the API key in exactly one header');
    if (head.key === undefined) return refuse('Missing API key');
    let record = keys.recent(head.key);
    const isInUse = record?.state === 'approved' && time - record.window.lastAdmitted() < IN_USE_MS;
    if (!isInUse) {
      // Guessing must be cheap to refuse: past the limit no key is looked up.
      const quota = addresses.peek(address(), time);
      if (!quota.admitted) return { quota, refusal: '' };
      record ??= keys.find(head.key);
    }
    if (record?.state !== 'approved') return refuse('Invalid API key');
    return { record, quota: keys.admit(record, time) };
  }

  function answer(reply: Reply, head: RequestHead, target: string): void {
    const current = snapshots.current();
    let isAgain = false;
    if (head.snapshot === undefined && current !== undefined) {
      if (current.id !== hotOf) {
        hot = makeHot();
        hotOf = current.id;
      }
      // A look-up that must fail costs more than all else about a small resource.
      isAgain = target.length <= LONGEST_HOT_TARGET && doorkeeper.isKnown(target);
      const known = isAgain ? hot.get(target) : undefined;
      if (known !== undefined) {
        counts.countHot();
        finish(reply, head, known.route, known.resource, current.id);
        return;
      }
    }
    const [path, queryString] = splitTarget(target);
    const route = matchRoute(path);
    if (route === undefined) {
      counts.count('none', sendError(reply, 404, 'Not found'));
      return;
    }
    let find: Finder;
    try {
      find = route.prepare(queryString);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      counts.count(route.name, sendError(reply, 400, error.message));
      return;
    }
    if (current === undefined) {
      counts.count(route.name, refuseUnready(reply, NO_SNAPSHOT));
      return;
    }
    if (head.snapshot === undefined) {
      answerFrom(current, reply, head, route.name, find, isAgain ? target : undefined);
      return;
    }
    snapshots.pinned(head.snapshot, (generation) => {
      try {
        if (generation === 'busy') counts.count(route.name, refuseBusy(reply));
        else if (generation === 'gone') counts.count(route.name, refuseGone(reply));
        else answerFrom(generation, reply, head, route.name, find, undefined);
      } catch (error) {
        if (error instanceof PackGoneError) counts.count(route.name, refuseGone(reply));
        else fail(reply, route.name, error);
      }
    });
  }

  function answerFrom(
    generation: Generation,
    reply: Reply,
    head: RequestHead,
    route: RouteName,
    find: Finder,
    hotTarget: string | undefined,
  ): void {
    const found = find(generation);
    if (found === undefined) {
      counts.count(route, sendError(reply, 404, 'Not found'));
      return;
    }
    const resource = makeResource(found.body, found.link);
    if (hotTarget !== undefined) {
      // Compressed bodies join it later: together about as large as the plain one.
      const bodies = resource.isCompressible ? 2 : 1;
      const size = ENTRY_BYTES + hotTarget.length + resource.identity.payload.length * bodies;
      hot.set(hotTarget, { route, resource }, { size });
    }
    finish(reply, head, route, resource, generation.id);
  }

  function finish(
    reply: Reply,
    head: RequestHead,
    route: RouteName,
    resource: Resource,
    snapshot: string,
  ): void {
    const coding = chooseCoding(head.acceptEncoding);
    const status = sendResource(reply, resource, snapshot, coding, head.ifNoneMatch);
    if (typeof status === 'number') counts.count(route, status);
    else {
      status.then((sent) => counts.count(route, sent)).catch((error) => fail(reply, route, error));
    }
  }

  function fail(reply: Reply, route: RouteLabel, error: unknown): void {
    log.error({ err: error, route }, 'a request failed');
    if (reply.response.isSent()) reply.response.destroy();
    else counts.count(route, sendError(reply, 500, 'Internal error'));
  }
}

function makeHot(): LRUCache<string, HotResource> {
  return new LRUCache<string, HotResource>({ maxSize: HOT_BYTES });
}

function refuseMethod(reply: Reply): number {
  return sendError(reply, 405, 'Method not allowed', `Allow: ${ALLOWED_METHODS}\r\n`);
}

function refuseUnready(reply: Reply, text: string): number {
  return sendError(reply, 503, text, 'Retry-After: 5\r\n');
}

function refuseGone(reply: Reply): number {
  return sendError(reply, 410, 'Snapshot gone');
}

function refuseBusy(reply: Reply): number {
  return sendError(reply, 503, 'Snapshot busy', 'Retry-After: 5\r\n');
}

function refuseUnauthorized(reply: Reply, text: string): number {
  if (!reply.quota.admitted) return refuseOverLimit(reply);
  return sendError(reply, 401, text, 'WWW-Authenticate: Bearer\r\n');
}

function refuseOverLimit(reply: Reply): number {
  const retry = `Retry-After: ${reply.quota.retrySeconds}\r\n`;
  return sendError(reply, 429, 'Rate limit exceeded', retry);
}
