/**
 * Handles a request under the base with the checks of the contract, in its order: well-formed, method,
 * key, limit, route, parameters, snapshot, resource, condition. The first check that fails answers the
 * request.
 */
import { isGenerationId } from '../../format/layout.ts';
import type { ReadChanges } from '../changes/changes.ts';
import { makeRequestId } from '../http/message/request-id.ts';
import type { ApiHandler, ApiRequest, Responder } from '../http/message/responder.ts';
import { splitTarget } from '../http/message/target.ts';
import type { KeyRecord } from '../keys/key-table.ts';
import { countUse, USE } from '../keys/use-counts.ts';
import type { Quota } from '../limits/rolling-window.ts';
import type { Question } from '../limits/shared/waiting-rows.ts';
import type { ThreadGeneration } from '../snapshot/thread-generation.ts';
import { type Admission, type AdmissionParts, makeAdmissions } from './admission.ts';
import { type AnswerParts, makeAnswers } from './answers.ts';
import { ParameterError } from './parameters/read-parameters.ts';
import { makeResourceCache } from './resource-cache.ts';
import { makeMatchRoute } from './routes/match-route.ts';
import type { Finder } from './routes/route.ts';
import { type DownloadFinder, matchDownload } from './routes/snapshot.ts';
import {
  ERRORS,
  type Reply,
  sendBadRequest,
  sendError,
  sendMaintenance,
  sendOverLimit,
  sendPreflight,
} from './send.ts';
import { makeSharedAdmissions } from './shared-admission.ts';

export interface ApiParts extends AdmissionParts, AnswerParts {
  /** The address at which clients reach the proxy, for the Link header. */
  readonly publicUrl: string;
  /** Whether clients may download whole generations. */
  readonly hasDownloads: boolean;
  readonly snapshots: Pick<ThreadGeneration, 'current'>;
  readonly readChanges: ReadChanges;
  /** Asks the limits store; undefined if the limits are those of this process. */
  readonly askLimits?: ((question: Question) => void) | undefined;
  /** In its first cell, the seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenance?: Int32Array | undefined;
}

/** @returns the handler of requests under the base */
export function makeApi(parts: ApiParts): ApiHandler {
  const { snapshots, keys, counts, now } = parts;
  const { record, sendFound, answerFrom, fail } = makeAnswers(parts);
  const cache = makeResourceCache();
  const matchRoute = makeMatchRoute(parts.publicUrl, parts.readChanges);

  return parts.askLimits === undefined ? handleAtOnce() : handleLater(parts.askLimits);

  function handleAtOnce(): ApiHandler {
    const { admit, peek } = makeAdmissions(parts);
    return (request, response) => {
      const startedAt = now();
      const sendEarly = findEarlyAnswer(request);
      if (sendEarly === undefined) {
        answerAdmitted(request, response, startedAt, admit(request, startedAt));
      } else {
        const reply = newReply(request, response, startedAt, peek(request, startedAt));
        record(reply, 'none', sendEarly(reply));
      }
    };
  }

  function handleLater(askLimits: (question: Question) => void): ApiHandler {
    const { admit, peek } = makeSharedAdmissions(parts, askLimits);
    return (request, response) => {
      const startedAt = now();
      const sendEarly = findEarlyAnswer(request);
      if (sendEarly === undefined) {
        admit(request, startedAt, (admission) => {
          try {
            answerAdmitted(request, response, startedAt, admission);
          } catch (error) {
            fail(newReply(request, response, startedAt, admission.quota), 'none', error);
          }
        });
      } else {
        peek(request, (quota) => {
          const reply = newReply(request, response, startedAt, quota);
          try {
            record(reply, 'none', sendEarly(reply));
          } catch (error) {
            fail(reply, 'none', error);
          }
        });
      }
    };
  }

  function answerAdmitted(
    request: ApiRequest,
    response: Responder,
    startedAt: number,
    { quota, key, refusal }: Admission,
  ): void {
    const reply = newReply(request, response, startedAt, quota, key);
    if (key !== undefined && refusal === undefined) {
      countUse(key.uses, quota.admitted ? USE.requests : USE.refused, 1);
    }
    if (!quota.admitted) {
      const limit = key === undefined ? 'address_limit' : 'key_limit';
      record(reply, 'none', sendOverLimit(reply, limit));
    } else if (refusal !== undefined) record(reply, 'none', sendError(reply, refusal));
    else {
      try {
        answer(reply);
      } catch (error) {
        fail(reply, 'none', error);
      }
    }
  }

  /**
   * Some requests are answered without counting towards a limit.
   * @returns the function that answers such a request; undefined for every other request
   */
  function findEarlyAnswer({ head, method }: ApiRequest): ((reply: Reply) => number) | undefined {
    const { fault } = head;
    if (fault !== undefined) return (reply) => sendBadRequest(reply, fault, true);
    if (method === 'OPTIONS') return sendPreflight;
    if (method !== 'GET' && method !== 'HEAD') return (reply) => sendError(reply, ERRORS.method);
    const seconds = parts.maintenance?.[0] ?? 0;
    if (seconds > 0) return (reply) => sendMaintenance(reply, seconds);
    if (head.key !== undefined && !head.hasSeveralKeys && keys.size() === undefined) {
      const error = snapshots.current() === undefined ? ERRORS.noSnapshot : ERRORS.noKeys;
      return (reply) => sendError(reply, error);
    }
    return undefined;
  }

  /** Answers an admitted request. */
  function answer(reply: Reply): void {
    const { head, target } = reply.request;
    const current = snapshots.current();
    const isCurrent = head.snapshot === undefined || head.snapshot === current?.id;
    const cached = current === undefined ? 'new' : cache.find(current.id, target);
    if (typeof cached !== 'string' && isCurrent) {
      counts.countCached();
      sendFound(reply, cached);
      return;
    }
    const [path, queryString] = splitTarget(target);
    const route = matchRoute(path) ?? (parts.hasDownloads ? matchDownload(path) : undefined);
    if (route === undefined) {
      record(reply, 'none', sendError(reply, ERRORS.notFound));
      return;
    }
    let find: Finder | DownloadFinder;
    try {
      find = route.prepare(queryString);
      checkSnapshotId(head.snapshot);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      record(reply, route.name, sendBadRequest(reply, error.message));
      return;
    }
    if (current === undefined) {
      record(reply, route.name, sendError(reply, ERRORS.noSnapshot));
    } else if (!isCurrent) {
      record(reply, route.name, sendError(reply, ERRORS.snapshotChanged));
    } else {
      const resource = answerFrom(current, reply, route.name, find);
      if (resource !== undefined && cached === 'repeated') {
        cache.add(current.id, target, { route: route.name, resource });
      }
    }
  }
}

/** @throws ParameterError */
function checkSnapshotId(snapshot: string | undefined): void {
  if (snapshot === undefined || isGenerationId(snapshot)) return;
  throw new ParameterError(
    'X-Snapshot must be the id of a snapshot, from the X-Snapshot header of an earlier response, such as 000041-8b1a9953c461',
  );
}

function newReply(
  request: ApiRequest,
  response: Responder,
  startedAt: number,
  quota: Quota,
  key?: KeyRecord,
): Reply {
  return {
    id: request.head.requestId ?? makeRequestId(),
    request,
    response,
    startedAt,
    quota,
    key,
    refusal: undefined,
    bytes: 0,
    snapshot: undefined,
  };
}
