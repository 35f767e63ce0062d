/**
 * Handles a request under the base with the checks of the contract, in its order: well-formed, method,
 * key, limit, route, parameters, resource, condition. The first check that fails answers the request.
 */
import type { Logger } from 'pino';
import { chooseCoding } from '../http/message/negotiation.ts';
import type { RequestHead } from '../http/message/request-head.ts';
import type { ApiHandler, ApiRequest } from '../http/message/responder.ts';
import { splitTarget } from '../http/message/target.ts';
import type { Generation } from '../snapshot/generation.ts';
import { PackGoneError } from '../snapshot/pack-files.ts';
import type { ThreadGenerations } from '../snapshot/thread-generations.ts';
import { type AdmissionParts, makeAdmissions } from './admission.ts';
import { ParameterError } from './parameters.ts';
import type { RequestCounts, RouteLabel } from './request-counts.ts';
import type { Resource } from './resource.ts';
import { type CachedResource, makeResourceCache } from './resource-cache.ts';
import { type Finder, matchRoute, type RouteName } from './routes.ts';
import {
  ERRORS,
  type Reply,
  sendBadRequest,
  sendError,
  sendOverLimit,
  sendPreflight,
  sendResource,
} from './send.ts';

export interface ApiParts extends AdmissionParts {
  readonly snapshots: ThreadGenerations;
  readonly counts: RequestCounts;
  readonly log: Logger;
}

/** @returns the handler of requests under the base */
export function makeApi(parts: ApiParts): ApiHandler {
  const { snapshots, keys, counts, log } = parts;
  const { admit, peek } = makeAdmissions(parts);
  const cache = makeResourceCache();

  return function handleApi(request, response): void {
    const sendEarly = findEarlyAnswer(request);
    if (sendEarly !== undefined) {
      counts.count('none', sendEarly({ response, quota: peek(request) }));
      return;
    }
    const { quota, refusal } = admit(request);
    const reply: Reply = { response, quota };
    if (!quota.admitted) counts.count('none', sendOverLimit(reply));
    else if (refusal !== undefined) counts.count('none', sendError(reply, refusal));
    else {
      try {
        answer(reply, request.head, request.target);
      } catch (error) {
        fail(reply, 'none', error);
      }
    }
  };

  /**
   * Some requests are answered without counting towards a limit.
   * @returns the function that answers such a request; undefined for every other request
   */
  function findEarlyAnswer({ head, method }: ApiRequest): ((reply: Reply) => number) | undefined {
    const { fault } = head;
    if (fault !== undefined) return (reply) => sendBadRequest(reply, fault, true);
    if (method === 'OPTIONS') return sendPreflight;
    if (method !== 'GET' && method !== 'HEAD') return (reply) => sendError(reply, ERRORS.method);
    if (head.key !== undefined && !head.hasSeveralKeys && keys.size() === undefined) {
      const error = snapshots.current() === undefined ? ERRORS.noSnapshot : ERRORS.noKeys;
      return (reply) => sendError(reply, error);
    }
    return undefined;
  }

  function answer(reply: Reply, head: RequestHead, target: string): void {
    const current = snapshots.current();
    const isCurrent = head.snapshot === undefined && current !== undefined;
    const cached = isCurrent ? cache.find(current.id, target) : 'new';
    if (typeof cached !== 'string') {
      counts.countCached();
      finish(reply, head, cached);
      return;
    }
    const [path, queryString] = splitTarget(target);
    const route = matchRoute(path);
    if (route === undefined) {
      counts.count('none', sendError(reply, ERRORS.notFound));
      return;
    }
    let find: Finder;
    try {
      find = route.prepare(queryString);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      counts.count(route.name, sendBadRequest(reply, error.message));
      return;
    }
    if (current === undefined) {
      counts.count(route.name, sendError(reply, ERRORS.noSnapshot));
    } else if (head.snapshot === undefined) {
      const resource = answerFrom(current, reply, head, route.name, find);
      if (resource !== undefined && cached === 'repeated') {
        cache.add(current.id, target, { route: route.name, resource });
      }
    } else answerPinned(head.snapshot, reply, head, route.name, find);
  }

  function answerPinned(
    id: string,
    reply: Reply,
    head: RequestHead,
    route: RouteName,
    find: Finder,
  ): void {
    snapshots.pinned(id, (generation) => {
      try {
        if (generation === 'busy') counts.count(route, sendError(reply, ERRORS.busy));
        else if (generation === 'gone') counts.count(route, sendError(reply, ERRORS.gone));
        else answerFrom(generation, reply, head, route, find);
      } catch (error) {
        if (error instanceof PackGoneError) counts.count(route, sendError(reply, ERRORS.gone));
        else fail(reply, route, error);
      }
    });
  }

  /** @returns the resource that was sent; undefined if the generation does not have it */
  function answerFrom(
    generation: Generation,
    reply: Reply,
    head: RequestHead,
    route: RouteName,
    find: Finder,
  ): Resource | undefined {
    const resource = find(generation);
    if (resource === undefined) counts.count(route, sendError(reply, ERRORS.notFound));
    else finish(reply, head, { route, resource });
    return resource;
  }

  function finish(reply: Reply, head: RequestHead, { route, resource }: CachedResource): void {
    const coding = chooseCoding(head.acceptEncoding);
    const status = sendResource(reply, resource, coding, head.ifNoneMatch);
    if (typeof status === 'number') counts.count(route, status);
    else {
      status.then((sent) => counts.count(route, sent)).catch((error) => fail(reply, route, error));
    }
  }

  function fail(reply: Reply, route: RouteLabel, error: unknown): void {
    log.error({ err: error, route }, 'a request failed');
    if (reply.response.isSent()) reply.response.destroy();
    else counts.count(route, sendError(reply, ERRORS.internal));
  }
}
