/**
 * Answers a request whose route is known: from a generation, or with a resource from the cache. Counts
 * each response by its route and status. Invariant: an error after the response has begun closes the
 * connection, so that a partial response never looks complete.
 */
import type { Logger } from 'pino';
import { chooseCoding } from '../http/message/negotiation.ts';
import { countUse, USE } from '../keys/use-counts.ts';
import type { Generation } from '../snapshot/generation.ts';
import { FileGoneError } from '../snapshot/stored-file.ts';
import type { RequestCounts, RouteLabel } from './request-counts.ts';
import type { CachedResource } from './resource-cache.ts';
import type { Resource } from './resources/resource.ts';
import type { Finder, LaterResource, RouteName } from './routes/route.ts';
import type { Download, DownloadFinder } from './routes/snapshot.ts';
import { ERRORS, type Reply, sendError, sendResource } from './send.ts';
import { makeSendDownload } from './send-download.ts';

export interface AnswerParts {
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

export function makeAnswers({ counts, now, logAccess, log }: AnswerParts) {
  const sendDownload = makeSendDownload();

  /** Records that a request was answered. */
  function record(reply: Reply, route: RouteLabel, status: number): void {
    const milliseconds = now() - reply.startedAt;
    counts.count(route, status, milliseconds, reply.refusal);
    if (reply.key !== undefined) {
      if (status === 304) countUse(reply.key.uses, USE.notModified, 1);
      countUse(reply.key.uses, USE.bytes, reply.bytes);
    }
    logAccess?.(reply, route, status, milliseconds);
  }

  /** Sends a resource, or 304 if the client already has it. */
  function sendFound(reply: Reply, { route, resource }: CachedResource): void {
    const { head } = reply.request;
    const coding = chooseCoding(head.acceptEncoding);
    const status = sendResource(reply, resource, coding, head.ifNoneMatch);
    if (typeof status === 'number') record(reply, route, status);
    else {
      status.then((sent) => record(reply, route, sent)).catch((error) => fail(reply, route, error));
    }
  }

  /** Sends a file, or 304 if the client already has it. */
  function sendFile(
    reply: Reply,
    { route, download }: { readonly route: RouteName; readonly download: Download },
  ): void {
    sendDownload(reply, download)
      .then((status) => record(reply, route, status))
      .catch((error) => {
        if (!(error instanceof FileGoneError)) fail(reply, route, error);
        else if (reply.response.isSent()) reply.response.destroy();
        // Pruned because its generation has been replaced, which this thread is about to learn.
        else record(reply, route, sendError(reply, ERRORS.busy));
      });
  }

  /** @returns the resource that was sent, to be cached; undefined if there is none to cache */
  function answerFrom(
    generation: Generation,
    reply: Reply,
    route: RouteName,
    find: Finder | DownloadFinder,
  ): Resource | undefined {
    const found = find(generation);
    if (found instanceof Promise) answerLater(found, reply, route);
    else if (found === undefined) record(reply, route, sendError(reply, ERRORS.notFound));
    else if ('stored' in found) sendFile(reply, { route, download: found });
    else {
      sendFound(reply, { route, resource: found });
      return found;
    }
    return undefined;
  }

  function answerLater(later: Promise<LaterResource>, reply: Reply, route: RouteName): void {
    later
      .then((resource) => {
        if (typeof resource !== 'string') sendFound(reply, { route, resource });
        else record(reply, route, sendError(reply, ERRORS[resource]));
      })
      .catch((error) => fail(reply, route, error));
  }

  /** Logs an error, and sends 500 if no response has begun. */
  function fail(reply: Reply, route: RouteLabel, error: unknown): void {
    log.error({ err: error, route, id: reply.id }, 'a request failed');
    if (reply.response.isSent()) reply.response.destroy();
    else record(reply, route, sendError(reply, ERRORS.internal));
  }

  return { record, sendFound, answerFrom, fail };
}
