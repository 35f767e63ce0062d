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
import { type Resource, respond } from '../http/resource.ts';
import { type ApiHandler, INTERNAL_ERROR, type Responder } from '../http/response.ts';
import type { CurrentGeneration, Generation } from '../snapshot/generation.ts';
import type { StoredFiles } from '../snapshot/stored-files.ts';
import { isResumed, MOST_DOWNLOADS, makeDownload } from './downloads.ts';
import { ParameterError } from './parameters.ts';
import type { RequestCounts } from './request-counts.ts';
import { makeResourceCache } from './resource-cache.ts';
import { type FindRoute, makeFindRoute } from './routes/find-route.ts';
import type { FindInSteps, Steps } from './routes/route.ts';
import { archiveDownload, type Download, matchDownload } from './routes/snapshot.ts';
import {
  type Answer,
  badRequest,
  ERRORS,
  maintenance,
  notAdmitted,
  ownHeaders,
  PREFLIGHT,
  type Reply,
  tryLater,
} from './send.ts';
import { makeTurns } from './turns.ts';

export interface ApiParts extends AdmissionParts {
  /** The address at which clients reach the proxy, for the Link header. */
  readonly publicUrl: string;
  /** Whether clients may download whole generations. */
  readonly hasDownloads: boolean;
  readonly counts: RequestCounts;
  /** A monotonic clock in milliseconds that all threads share. */
  readonly now: () => number;
  readonly log: Logger;
}

/** A resource, and the id of its generation. */
interface FoundResource {
  readonly resource: Resource;
  readonly snapshot: string;
}

/** In bytes, of a request line without its end. */
const LONGEST_LINE = 8 * 1024;
const UNDER_WAY = { done: false, value: undefined } as const;
const AROUND_TARGET = ` ${BASE} HTTP/1.1`.length;

/** Its `handle` is the handler of requests under the base, from the generation that it was last given. */
export class Api {
  private generation: Generation | undefined;
  /** The files of replaced generations that may still be open. */
  private replaced: readonly StoredFiles[] = [];
  private maintenanceSeconds = 0;
  private readonly parts: ApiParts;
  private readonly admit: Admit;
  private readonly matchRoute: FindRoute;
  private readonly cache = makeResourceCache();
  private readonly takeTurns: ReturnType<typeof makeTurns<FoundResource>>;
  private readonly slots = {
    snapshot: makeSlots(MOST_DOWNLOADS),
    snapshot_file: makeSlots(MOST_DOWNLOADS),
  };

  constructor(parts: ApiParts) {
    this.parts = parts;
    this.admit = makeAdmit(parts);
    this.matchRoute = makeFindRoute(parts.publicUrl);
    this.takeTurns = makeTurns(parts.now);
  }

  readonly current: CurrentGeneration = () => this.generation;

  /** From now on, answers from this generation. */
  serve(generation: Generation): void {
    const before = this.generation === undefined ? [] : [this.generation.stored];
    this.replaced = [...this.replaced, ...before].filter((stored) => !stored.isClosed());
    this.generation = generation;
  }

  /** @param seconds for `Retry-After` during maintenance, otherwise 0 */
  setMaintenance(seconds: number): void {
    this.maintenanceSeconds = seconds;
  }

  readonly handle: ApiHandler = (request, response) => {
    const startedAt = this.parts.now();
    try {
      const early = this.findEarlyAnswer(request);
      const admission = this.admit(request, startedAt, early === undefined);
      const begin = (admitted: Admission) =>
        this.begin(request, response, startedAt, early, admitted);
      if (admission instanceof Promise)
        admission.then(begin).catch((error) => this.failEarly(response, error));
      else begin(admission);
    } catch (error) {
      this.failEarly(response, error);
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
    if (this.maintenanceSeconds > 0) return maintenance(this.maintenanceSeconds);
    if (method.length + AROUND_TARGET + target.length > LONGEST_LINE) return ERRORS.longTarget;
    if (head.key !== undefined && this.parts.keys.size() === undefined) {
      return this.generation === undefined ? ERRORS.noSnapshot : ERRORS.noKeys;
    }
    return undefined;
  }

  /** Answers an admitted request. */
  private answer(reply: Reply) {
    const { head, target } = reply.request;
    const current = this.generation;
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
    try {
      const find = route.prepare(queryString);
      checkSnapshotId(head.snapshot);
      if (current === undefined) return this.send(reply, ERRORS.noSnapshot);
      if (!isCurrent) return this.send(reply, ERRORS.snapshotChanged);
      const keep = ({ resource, snapshot }: FoundResource): Resource =>
        cached === 'repeated'
          ? this.cache.add(snapshot, target, { route: route.name, resource })
          : resource;
      const found = find(current);
      if (found === undefined) return this.send(reply, ERRORS.notFound);
      if (found === 'sinceGone') return this.send(reply, ERRORS.sinceGone);
      if ('stored' in found) {
        const download = this.resume(reply) ?? found;
        this.sendDownload(reply, download).catch((error) => this.fail(reply, error));
      } else if ('steps' in found) {
        this.answerInTurns(reply, current, found, find as FindInSteps, keep);
      } else {
        this.sendResource(reply, keep({ resource: found, snapshot: current.id }));
      }
    } catch (error) {
      this.refuse(reply, error);
    }
  }

  /** Finds a resource in turns, and sends it. If the generation is replaced between two steps, starts over with the new one. */
  private answerInTurns(
    reply: Reply,
    generation: Generation,
    { count, steps }: Steps,
    find: FindInSteps,
    keep: (found: FoundResource) => Resource,
  ): void {
    const { socket, head } = reply.request;
    const answer = (found: FoundResource | 'full' | 'left') => {
      if (found === 'left') reply.response.destroy();
      else if (found === 'full') this.send(reply, tryLater(ERRORS.manyWaiting, reply.quota));
      else if (head.snapshot !== undefined && head.snapshot !== found.snapshot) {
        this.send(reply, ERRORS.snapshotChanged);
      } else {
        this.sendResource(reply, keep(found));
      }
    };
    let used = generation;
    let left = steps;
    const next = (): IteratorResult<void, FoundResource> => {
      const current = this.generation as Generation;
      if (current !== used) [used, left] = [current, find(current).steps];
      const { done, value } = left.next();
      return done ? { done, value: { resource: value, snapshot: used.id } } : UNDER_WAY;
    };
    const found = this.takeTurns({ key: reply.key?.id, socket }, count, { next });
    // Nearly all searches are done at once. A promise would add a tenth to them.
    if (!(found instanceof Promise)) answer(found);
    else found.then(answer).catch((error) => this.refuse(reply, error));
  }

  /** Sends a resource, or 304 if the client already has it. */
  private sendResource(reply: Reply, resource: Resource) {
    const response = respond(resource, reply.request.head);
    if (!(response instanceof Promise)) return this.send(reply, response);
    response.then((later) => this.send(reply, later)).catch((error) => this.fail(reply, error));
  }

  /**
   * The archive of a replaced generation, if the client has a part of it and its files are still open: a
   * download that has begun can be ended.
   */
  private resume({ route, request: { head } }: Reply): Download | undefined {
    if (route !== 'snapshot_archive' || head.range === undefined) return undefined;
    return this.replaced
      .filter((stored) => !stored.isClosed())
      .map(archiveDownload)
      .find((download) => isResumed(download, head));
  }

  /** Sends a file, or 304 if the client already has it. */
  private async sendDownload(reply: Reply, download: Download) {
    const { request, response, route } = reply;
    const key = reply.key?.id;
    const { stored, hasRanges } = download;
    const made = makeDownload(download, request.head, request.method === 'HEAD');
    if ('body' in made) return this.send(reply, made);
    // The manifest has slots of its own: it is small, and all copying begins with it.
    const slots = this.slots[hasRanges ? 'snapshot_file' : 'snapshot'];
    if (!slots.take(key)) return this.send(reply, tryLater(ERRORS.manyDownloads, reply.quota));
    // False if the first thread has just closed the files of a replaced generation.
    const isHeld = stored.hold(route === 'snapshot_archive');
    try {
      if (!isHeld) return this.send(reply, ERRORS.snapshotChanged);
      reply.isSent = true;
      await response.sendPieces(made, ownHeaders(reply));
      this.record(reply, made.status);
    } finally {
      if (isHeld) stored.release();
      slots.release(key);
    }
  }

  /** Sends a response with the header fields that every response of the API has. */
  private send(reply: Reply, answer: Answer): void {
    reply.refusal = answer.refusal;
    reply.response.send(answer, ownHeaders(reply));
    reply.isSent = true;
    this.record(reply, answer.status);
  }

  /** Records that a request was answered. */
  private record(reply: Reply, status: number): void {
    const { route, refusal, startedAt } = reply;
    this.parts.counts.count(route, status, this.parts.now() - startedAt, refusal);
  }

  /** Sends 400 for a wrong parameter; other errors are those of the program. */
  private refuse(reply: Reply, error: unknown): void {
    if (error instanceof ParameterError && !reply.isSent)
      this.send(reply, badRequest({ text: error.message, field: error.parameter }));
    else this.fail(reply, error);
  }

  /** Logs an error that came before it was known whether the request is admitted, and sends 500. */
  private failEarly(response: Responder, error: unknown): void {
    this.parts.log.error({ err: error }, 'a request failed');
    response.send(INTERNAL_ERROR);
  }

  /** Logs an error, and sends 500 if no response has begun. */
  private fail(reply: Reply, error: unknown): void {
    const { id, route, response, isSent } = reply;
    this.parts.log.error({ err: error, route, id }, 'a request failed');
    if (isSent) response.destroy();
    else this.send(reply, ERRORS.internal);
  }
}

/** @throws ParameterError */
function checkSnapshotId(snapshot: string | undefined): void {
  if (snapshot === undefined || isGenerationId(snapshot)) return;
  throw new ParameterError(
    'X-Snapshot',
    'X-Snapshot must be the id of a snapshot, from the X-Snapshot header of an earlier response, such as 000041-8b1a9953c461',
  );
}
