/**
 * Answers requests under the base, with the checks of the contract in its order: well-formed, method,
 * key, limit, route, parameters, snapshot, resource, condition. The first check that fails answers the
 * request. Each response is counted by its route and status.
 *
 * Invariant: an error after the response has begun closes the connection, so that a partial response never
 * looks complete.
 */
import type { Logger } from 'pino';
import { isGenerationId } from '../../format/layout.ts';
import type { ReadChanges } from '../changes/changes.ts';
import { type ApiRequest, BASE, makeRequestId, splitTarget } from '../http/request.ts';
import { respond } from '../http/resource.ts';
import type { ApiHandler, HeaderLines, PreparedResponse } from '../http/response.ts';
import { countUse, USE } from '../keys/key-table.ts';
import type { CurrentGeneration } from '../snapshot/generation.ts';
import { FileGoneError } from '../snapshot/stored-file.ts';
import { type Admission, type AdmissionParts, makeAdmissions } from './admission.ts';
import { makeDownload, makeDownloadSlots } from './downloads.ts';
import { ParameterError } from './parameters.ts';
import type { RequestCounts, RouteLabel } from './request-counts.ts';
import { type CachedResource, makeResourceCache } from './resource-cache.ts';
import { makeMatchRoute } from './routes/match-route.ts';
import type { Finder, LaterResource } from './routes/route.ts';
import { type Download, type DownloadFinder, matchDownload } from './routes/snapshot.ts';
import {
  type Answer,
  badRequest,
  ERRORS,
  maintenance,
  overLimit,
  ownHeaders,
  PREFLIGHT,
  type Reply,
} from './send.ts';

export interface ApiParts extends AdmissionParts {
  /** The address at which clients reach the proxy, for the Link header. */
  readonly publicUrl: string;
  /** Whether clients may download whole generations. */
  readonly hasDownloads: boolean;
  readonly snapshots: CurrentGeneration;
  readonly readChanges: ReadChanges;
  /** In its first cell, the seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenance?: Int32Array | undefined;
  readonly counts: RequestCounts;
  /** A monotonic clock in milliseconds that all threads share. */
  readonly now: () => number;
  /** Writes the access log; undefined if there is none. */
  readonly logAccess?: LogAccess | undefined;
  readonly log: Logger;
}

/** Logs a request after it was answered. */
export type LogAccess = (
  reply: Reply,
  route: RouteLabel,
  status: number,
  milliseconds: number,
) => void;

/** Of a target after the base, so that the request line has at most 8 KiB, as in nginx. */
const LONGEST_TARGET = 8 * 1024 - `OPTIONS ${BASE} HTTP/1.1\r\n`.length;

/** @returns the handler of requests under the base */
export function makeApi(parts: ApiParts): ApiHandler {
  const { snapshots, keys, counts, now, log } = parts;
  const { admit, peek } = makeAdmissions(parts);
  const cache = makeResourceCache();
  const matchRoute = makeMatchRoute(parts.publicUrl, parts.readChanges);
  const slots = makeDownloadSlots();

  return (request, response) => {
    const startedAt = now();
    const early = findEarlyAnswer(request);
    const admission = early === undefined ? admit(request, startedAt) : peek(request, startedAt);
    const finishWith = (found: Admission) => {
      const id = request.head.requestId ?? makeRequestId();
      const { quota, key } = found;
      const unsent = { refusal: undefined, bytes: 0, snapshot: undefined };
      finish({ id, request, response, startedAt, quota, key, ...unsent }, found, early);
    };
    if (admission instanceof Promise) void admission.then(finishWith);
    else finishWith(admission);
  };

  /** Answers a request whose limit is known. @param early from {@link findEarlyAnswer} */
  function finish(reply: Reply, { quota, key, refusal }: Admission, early: Answer | undefined) {
    try {
      if (early !== undefined) return send(reply, 'none', early);
      if (key !== undefined && refusal === undefined) {
        countUse(key.uses, quota.admitted ? USE.requests : USE.refused, 1);
      }
      if (!quota.admitted) {
        send(reply, 'none', overLimit(quota, key === undefined ? 'address_limit' : 'key_limit'));
      } else if (refusal !== undefined) send(reply, 'none', refusal);
      else answer(reply);
    } catch (error) {
      fail(reply, 'none', error);
    }
  }

  /** @returns the answer to a request that does not count towards a limit; undefined for others */
  function findEarlyAnswer({ head, method, target }: ApiRequest): Answer | undefined {
    if (head.fault !== undefined) return badRequest(head.fault, true);
    if (target.length > LONGEST_TARGET) return ERRORS.longTarget;
    if (method === 'OPTIONS') return PREFLIGHT;
    if (method !== 'GET' && method !== 'HEAD') return ERRORS.method;
    const seconds = parts.maintenance?.[0] ?? 0;
    if (seconds > 0) return maintenance(seconds);
    if (head.key !== undefined && !head.hasSeveralKeys && keys.size() === undefined) {
      return snapshots.current() === undefined ? ERRORS.noSnapshot : ERRORS.noKeys;
    }
    return undefined;
  }

  /** Answers an admitted request. */
  function answer(reply: Reply) {
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
    if (route === undefined) return send(reply, 'none', ERRORS.notFound);
    const { name } = route;
    let found: ReturnType<Finder | DownloadFinder>;
    try {
      const find = route.prepare(queryString);
      checkSnapshotId(head.snapshot);
      if (current === undefined) return send(reply, name, ERRORS.noSnapshot);
      if (!isCurrent) return send(reply, name, ERRORS.snapshotChanged);
      found = find(current);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      return send(reply, name, badRequest(error.message));
    }
    if (found === undefined) return send(reply, name, ERRORS.notFound);
    if (found instanceof Promise) return void sendLater(reply, name, found);
    if ('stored' in found) return void sendDownload(reply, name, found);
    sendFound(reply, { route: name, resource: found });
    if (cached === 'repeated') cache.add(current.id, target, { route: name, resource: found });
  }

  /** Sends a resource, or 304 if the client already has it. */
  function sendFound(reply: Reply, { route, resource }: CachedResource) {
    const response = respond(resource, reply.request.head);
    reply.snapshot = resource.snapshot;
    if (!(response instanceof Promise)) return sendPrepared(reply, route, response);
    response
      .then((prepared) => sendPrepared(reply, route, prepared))
      .catch((error) => fail(reply, route, error));
  }

  async function sendLater(
    reply: Reply,
    route: RouteLabel & CachedResource['route'],
    later: Promise<LaterResource>,
  ): Promise<void> {
    try {
      const found = await later;
      if (typeof found === 'string') send(reply, route, ERRORS[found]);
      else sendFound(reply, { route, resource: found });
    } catch (error) {
      fail(reply, route, error);
    }
  }

  /** Sends a file, or 304 if the client already has it. */
  async function sendDownload(reply: Reply, route: RouteLabel, download: Download) {
    const { request, response } = reply;
    const { key = '' } = request.head;
    if (!slots.take(key)) return send(reply, route, ERRORS.manyDownloads);
    try {
      const made = makeDownload(download, request.head, response.isHead);
      reply.snapshot = download.snapshot;
      if ('body' in made) return sendPrepared(reply, route, made);
      const pieces = countBytes(made.pieces, reply);
      await response.sendPieces({ ...made, pieces }, ownHeaders(reply));
      record(reply, route, made.head.status);
    } catch (error) {
      if (!(error instanceof FileGoneError)) fail(reply, route, error);
      else if (response.isSent()) response.destroy();
      // Pruned because its generation has been replaced, which this thread is about to learn.
      else send(reply, route, ERRORS.busy);
    } finally {
      slots.free(key);
    }
  }

  function send(reply: Reply, route: RouteLabel, answer: Answer): void {
    reply.refusal = answer.refusal;
    sendPrepared(reply, route, answer.prepared, answer.headers, answer.isLast);
  }

  /** Sends a response with the header fields that every response of the API has. */
  function sendPrepared(
    reply: Reply,
    route: RouteLabel,
    prepared: PreparedResponse,
    headers: HeaderLines = '',
    isLast = false,
  ): void {
    const { response } = reply;
    reply.bytes = response.isHead ? 0 : prepared.body.length;
    response.send(prepared, ownHeaders(reply) + headers, isLast);
    record(reply, route, prepared.head.status);
  }

  /** Records that a request was answered. */
  function record(reply: Reply, route: RouteLabel, status: number): void {
    const milliseconds = now() - reply.startedAt;
    counts.count(route, status, milliseconds, reply.refusal);
    if (reply.key !== undefined) {
      if (status === 304) countUse(reply.key.uses, USE.notModified, 1);
      countUse(reply.key.uses, USE.bytes, reply.bytes);
    }
    parts.logAccess?.(reply, route, status, milliseconds);
  }

  /** Logs an error, and sends 500 if no response has begun. */
  function fail(reply: Reply, route: RouteLabel, error: unknown): void {
    log.error({ err: error, route, id: reply.id }, 'a request failed');
    if (reply.response.isSent()) reply.response.destroy();
    else send(reply, route, ERRORS.internal);
  }
}

/** Passes the pieces of a body on, and adds their lengths to the bytes that were sent. */
async function* countBytes(pieces: AsyncIterable<Buffer>, reply: Reply): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    reply.bytes += piece.length;
    yield piece;
  }
}

/** @throws ParameterError */
function checkSnapshotId(snapshot: string | undefined): void {
  if (snapshot === undefined || isGenerationId(snapshot)) return;
  throw new ParameterError(
    'X-Snapshot must be the id of a snapshot, from the X-Snapshot header of an earlier response, such as 000041-8b1a9953c461',
  );
}
