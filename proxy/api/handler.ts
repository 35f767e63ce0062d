/**
 * Answers requests under the base, with the checks of the contract in its order: well-formed, method,
 * key, limit, route, parameters, snapshot, resource, condition. The first check that fails answers the
 * request. Each response is counted by its route and status.
 *
 * Invariant: an error after the response has begun closes the connection, so that a partial response never
 * looks complete.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { isGenerationId } from '../../lib/format/layout.ts';
import { type Admission, type AdmissionParts, type Admit, makeAdmit } from '../admit/admission.ts';
import { makeSlots } from '../admit/limits/slots.ts';
import { type ApiRequest, BASE, splitTarget } from '../http/request.ts';
import { respond } from '../http/resource.ts';
import { type ApiHandler, INTERNAL_ERROR, type Responder } from '../http/response.ts';
import type { CurrentGeneration, Generation } from '../snapshot/generation.ts';
import { FileGoneError } from '../snapshot/stored-file.ts';
import type { ReadChanges } from './changes/changes.ts';
import { MOST_DOWNLOADS, makeDownload } from './downloads.ts';
import { ParameterError } from './parameters.ts';
import type { RequestCounts } from './request-counts.ts';
import { makeResourceCache } from './resource-cache.ts';
import { type FindRoute, makeFindRoute } from './routes/find-route.ts';
import type { FindInSteps, LaterResource, Requester, Resource } from './routes/route.ts';
import { type Download, matchDownload } from './routes/snapshot.ts';
import {
  type Answer,
  badRequest,
  ERRORS,
  maintenance,
  notAdmitted,
  ownHeaders,
  PREFLIGHT,
  type Reply,
} from './send.ts';
import { makeTurns } from './turns.ts';

export interface ApiParts extends AdmissionParts {
  /** The address at which clients reach the proxy, for the Link header. */
  readonly publicUrl: string;
  /** Whether clients may download whole generations. */
  readonly hasDownloads: boolean;
  readonly current: CurrentGeneration;
  readonly readChanges: ReadChanges;
  /** The seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenance: () => number;
  readonly counts: RequestCounts;
  /** A monotonic clock in milliseconds that all threads share. */
  readonly now: () => number;
  /** Writes the access log; undefined if there is none. */
  readonly logAccess?: LogAccess | undefined;
  readonly log: Logger;
}

/** Logs a request after it was answered. */
export type LogAccess = (reply: Reply, status: number, milliseconds: number) => void;

/** In bytes, of a request line without its end. */
const LONGEST_LINE = 8 * 1024;
const AROUND_TARGET = ` ${BASE} HTTP/1.1`.length;

/** Its `handle` is the handler of requests under the base. */
export class Api {
  private readonly parts: ApiParts;
  private readonly admit: Admit;
  private readonly matchRoute: FindRoute;
  private readonly cache = makeResourceCache();
  private readonly takeTurns = makeTurns<Resource>();
  private readonly slots = {
    snapshot: makeSlots(MOST_DOWNLOADS),
    snapshot_file: makeSlots(MOST_DOWNLOADS),
  };

  constructor(parts: ApiParts) {
    this.parts = parts;
    this.admit = makeAdmit(parts);
    this.matchRoute = makeFindRoute(parts.publicUrl, parts.readChanges);
  }

  readonly handle: ApiHandler = (request, response) => {
    const startedAt = this.parts.now();
    try {
      const early = this.findEarlyAnswer(request);
      const admission = this.admit(request, startedAt, early === undefined);
      const begin = (admitted: Admission) =>
        this.begin(request, response, startedAt, early, admitted);
      if (admission instanceof Promise) void admission.then(begin);
      else begin(admission);
    } catch (error) {
      this.parts.log.error({ err: error }, 'a request failed');
      response.send(INTERNAL_ERROR);
    }
  };

  /** Answers a request of which it is known whether it is admitted. */
  private begin(
    request: ApiRequest,
    response: Responder,
    startedAt: number,
    early: Answer | undefined,
    { quota, key, refusal }: Admission,
  ): void {
    const reply: Reply = {
      id: request.head.requestId ?? randomUUID(),
      request,
      response,
      startedAt,
      quota,
      key,
      route: 'none',
      isSent: false,
      refusal: undefined,
      bytes: 0,
      snapshot: undefined,
    };
    try {
      if (early !== undefined) this.send(reply, early);
      else if (refusal !== undefined) this.send(reply, notAdmitted(refusal, quota));
      else this.answer(reply);
    } catch (error) {
      this.fail(reply, error);
    }
  }

  /** @returns the answer to a request that does not count towards a limit; undefined for others */
  private findEarlyAnswer({ head, method, target }: ApiRequest): Answer | undefined {
    if (head.fault !== undefined) return { ...badRequest(head.fault), isLast: true };
    if (method === 'OPTIONS') return PREFLIGHT;
    if (method !== 'GET' && method !== 'HEAD') return ERRORS.method;
    const seconds = this.parts.maintenance();
    if (seconds > 0) return maintenance(seconds);
    if (method.length + AROUND_TARGET + target.length > LONGEST_LINE) return ERRORS.longTarget;
    if (head.key !== undefined && this.parts.keys.size() === undefined) {
      return this.parts.current() === undefined ? ERRORS.noSnapshot : ERRORS.noKeys;
    }
    return undefined;
  }

  /** Answers an admitted request. */
  private answer(reply: Reply) {
    const { head, target } = reply.request;
    const current = this.parts.current();
    const isCurrent = head.snapshot === undefined || head.snapshot === current?.id;
    const cached = current === undefined ? 'new' : this.cache.find(current.id, target);
    if (typeof cached !== 'string' && isCurrent) {
      this.parts.counts.countCached();
      reply.route = cached.route;
      return this.sendResource(reply, cached.resource);
    }
    const [path, queryString] = splitTarget(target);
    const route =
      this.matchRoute(path) ?? (this.parts.hasDownloads ? matchDownload(path) : undefined);
    if (route === undefined) return this.send(reply, ERRORS.notFound);
    reply.route = route.name;
    let found: Resource | Promise<LaterResource> | Download | undefined;
    try {
      const inSteps = route.inSteps?.(queryString);
      const find = inSteps ? this.inTurns(inSteps) : route.prepare(queryString);
      checkSnapshotId(head.snapshot);
      if (current === undefined) return this.send(reply, ERRORS.noSnapshot);
      if (!isCurrent) return this.send(reply, ERRORS.snapshotChanged);
      found = find(current, { key: reply.key?.id, socket: reply.request.socket });
    } catch (error) {
      return this.refuse(reply, error);
    }
    if (found === undefined) return this.send(reply, ERRORS.notFound);
    const keep = (resource: Resource) => {
      if (cached !== 'repeated') return;
      this.cache.add(resource.snapshot, target, { route: route.name, resource });
    };
    if (found instanceof Promise) return void this.sendLater(reply, found, keep);
    if ('files' in found) return void this.sendDownload(reply, found);
    this.sendResource(reply, found);
    keep(found);
  }

  /** Finds a resource in turns. What was found of a generation that is replaced meanwhile is found again. */
  private inTurns(find: FindInSteps) {
    const { current } = this.parts;
    function* steps(): Generator<void, Resource> {
      for (;;) {
        const generation = current() as Generation;
        const each = find(generation);
        do {
          const { done, value } = each.next();
          if (done) return value;
          yield;
        } while (current() === generation);
      }
    }
    return (_: unknown, requester: Requester) => this.takeTurns(requester, steps);
  }

  /** Sends a resource, or 304 if the client already has it. */
  private sendResource(reply: Reply, resource: Resource) {
    const response = respond(resource, reply.request.head);
    reply.snapshot = resource.snapshot;
    if (!(response instanceof Promise)) return this.send(reply, response);
    response.then((later) => this.send(reply, later)).catch((error) => this.fail(reply, error));
  }

  private async sendLater(
    reply: Reply,
    later: Promise<LaterResource>,
    keep: (resource: Resource) => void,
  ): Promise<void> {
    try {
      const found = await later;
      const { snapshot } = reply.request.head;
      if (typeof found === 'string') this.send(reply, ERRORS[found]);
      else if (snapshot !== undefined && snapshot !== found.snapshot)
        this.send(reply, ERRORS.snapshotChanged);
      else {
        this.sendResource(reply, found);
        keep(found);
      }
    } catch (error) {
      this.refuse(reply, error);
    }
  }

  /** Sends a file, or 304 if the client already has it. */
  private async sendDownload(reply: Reply, download: Download) {
    const { request, response } = reply;
    const key = reply.key?.id;
    // The manifest has slots of its own: it is small, and all copying begins with it.
    const { take, release } = this.slots[download.hasRanges ? 'snapshot_file' : 'snapshot'];
    let hasSlot = false;
    try {
      const made = makeDownload(download, request.head, request.method === 'HEAD');
      hasSlot = 'pieces' in made && take(key);
      if ('pieces' in made && !hasSlot) return this.send(reply, ERRORS.manyDownloads);
      reply.snapshot = download.snapshot;
      if ('body' in made) return this.send(reply, made);
      const pieces = countBytes(made.pieces, reply);
      reply.isSent = true;
      await response.sendPieces({ ...made, pieces }, ownHeaders(reply));
      this.record(reply, made.status);
    } catch (error) {
      if (!(error instanceof FileGoneError)) this.fail(reply, error);
      else if (reply.isSent) response.destroy();
      // Pruned because its generation has been replaced, which this thread is about to learn.
      else this.send(reply, ERRORS.busy);
    } finally {
      if (hasSlot) release(key);
    }
  }

  /** Sends a response with the header fields that every response of the API has. */
  private send(reply: Reply, answer: Answer): void {
    reply.refusal = answer.refusal;
    reply.bytes = reply.request.method === 'HEAD' ? 0 : answer.body.length;
    reply.response.send(answer, ownHeaders(reply));
    reply.isSent = true;
    this.record(reply, answer.status);
  }

  /** Records that a request was answered. */
  private record(reply: Reply, status: number): void {
    const { key, route, refusal, bytes, startedAt } = reply;
    const milliseconds = this.parts.now() - startedAt;
    this.parts.counts.count(route, status, milliseconds, refusal);
    if (key !== undefined) {
      if (status === 304) key.usage.notModified++;
      key.usage.bytes += bytes;
    }
    this.parts.logAccess?.(reply, status, milliseconds);
  }

  /** Sends 400 for a wrong parameter; other errors are those of the program. */
  private refuse(reply: Reply, error: unknown): void {
    if (error instanceof ParameterError && !reply.isSent)
      this.send(reply, badRequest(error.message, error.parameter));
    else this.fail(reply, error);
  }

  /** Logs an error, and sends 500 if no response has begun. */
  private fail(reply: Reply, error: unknown): void {
    const { id, route, response, isSent } = reply;
    this.parts.log.error({ err: error, route, id }, 'a request failed');
    if (isSent) response.destroy();
    else this.send(reply, ERRORS.internal);
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
    undefined,
    'X-Snapshot must be the id of a snapshot, from the X-Snapshot header of an earlier response, such as 000041-8b1a9953c461',
  );
}
