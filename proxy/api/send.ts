/**
 * Sends the responses of the API, each with the quota that its caller has left. The parts that all
 * responses of one kind share are built once.
 */
import { type Coding, matchesEtag } from '../http/message/negotiation.ts';
import type { ApiRequest, Responder } from '../http/message/responder.ts';
import {
  type HeaderLines,
  type HeaderList,
  NO_BODY,
  type PreparedResponse,
  prepareError,
} from '../http/message/response.ts';
import type { KeyRecord } from '../keys/key-table.ts';
import type { Quota } from '../limits/rolling-window.ts';
import type { Refusal } from './request-counts.ts';
import { CORS, etagOf, notModified, type Resource, responseOf } from './resources/resource.ts';

const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';
/** Those that the API reads, and those that scripts and tracing libraries often add. */
const ALLOWED_HEADERS =
  'Authorization, X-Api-Key, X-Snapshot, If-None-Match, Content-Type, Cache-Control, X-Request-Id, X-Requested-With, traceparent, tracestate';
const PREFLIGHT: PreparedResponse = {
  head: {
    status: 204,
    headers: [
      ...CORS,
      ...['Access-Control-Allow-Methods', ALLOWED_METHODS],
      ...['Access-Control-Allow-Headers', ALLOWED_HEADERS],
      ...['Access-Control-Max-Age', '86400', 'Cache-Control', 'no-store'],
    ],
  },
  headers: [],
  body: NO_BODY,
};
export const RETRY_SOON_SECONDS = 5;
const RETRY_SOON = ['Retry-After', String(RETRY_SOON_SECONDS)];
const OVER_LIMIT = apiError(429, 'Rate limit exceeded');
const MAINTENANCE = apiError(503, 'Under maintenance');

/** Errors of the API whose text is always the same. */
export const ERRORS = {
  notFound: apiError(404, 'Not found'),
  method: apiError(405, 'Method not allowed', ['Allow', ALLOWED_METHODS]),
  sinceGone: apiError(
    410,
    'Snapshot gone: read the whole catalogue again, and send its X-Snapshot as since from then on',
  ),
  snapshotChanged: apiError(412, 'Snapshot changed'),
  busy: apiError(503, 'Snapshot busy', RETRY_SOON),
  manyDownloads: apiError(503, 'Too many downloads', RETRY_SOON),
  noSnapshot: apiError(503, 'No snapshot yet', RETRY_SOON),
  noKeys: apiError(503, 'No API keys yet', RETRY_SOON),
  noLimits: apiError(503, 'Rate limits cannot be checked at the moment', RETRY_SOON),
  internal: apiError(500, 'Internal error'),
  severalKeys: unauthorized('Send the API key in exactly one header'),
  missingKey: unauthorized('Missing API key'),
  misplacedKey: unauthorized(
    'Send the API key as "Authorization: Bearer <key>" or as "X-Api-Key: <key>"',
  ),
  invalidKey: unauthorized('Invalid API key'),
} as const;

/** Why a request gets one of {@link ERRORS}, for the metrics. */
const REFUSAL_OF: ReadonlyMap<PreparedResponse, Refusal> = new Map([
  [ERRORS.missingKey, 'missing_key'],
  [ERRORS.misplacedKey, 'misplaced_key'],
  [ERRORS.severalKeys, 'several_keys'],
  [ERRORS.invalidKey, 'invalid_key'],
  [ERRORS.noLimits, 'limits_unavailable'],
  [ERRORS.noSnapshot, 'no_snapshot'],
  [ERRORS.noKeys, 'no_keys'],
  [ERRORS.busy, 'snapshot_busy'],
  [ERRORS.manyDownloads, 'many_downloads'],
]);

/** A request that is being answered, and where its response goes. */
export interface Reply {
  /** The id of the request: the client's, or a random one. */
  readonly id: string;
  readonly request: ApiRequest;
  readonly response: Responder;
  /** When the request was read, in milliseconds of the clock that all threads share. */
  readonly startedAt: number;
  /** What the caller has left. */
  readonly quota: Quota;
  /** The valid key of the request; undefined without one. */
  readonly key: KeyRecord | undefined;
  /** Why the request was refused, once it was. */
  refusal: Refusal | undefined;
  /** How many bytes of a body were sent. */
  bytes: number;
  /** The id of the generation that the response comes from, once it was sent. */
  snapshot: string | undefined;
}

/** Sends a response with the header fields that every response of the API has. */
export function sendPrepared(
  reply: Reply,
  prepared: PreparedResponse,
  headers: HeaderLines = '',
  isLast = false,
): void {
  const { response } = reply;
  reply.bytes = response.isHead ? 0 : prepared.body.length;
  response.send(prepared, ownHeaders(reply) + headers, isLast);
}

/**
 * Sends a resource, or 304 if the client already has it.
 * @returns the status; a promise of it if the body must be compressed first
 */
export function sendResource(
  reply: Reply,
  resource: Resource,
  wanted: Coding,
  ifNoneMatch: string | undefined,
): number | Promise<number> {
  const coding = resource.isCompressible ? wanted : 'identity';
  reply.snapshot = resource.snapshot;
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etagOf(resource, coding))) {
    sendPrepared(reply, notModified(resource, coding));
    return 304;
  }
  const found = responseOf(resource, coding);
  if (!(found instanceof Promise)) {
    sendPrepared(reply, found);
    return 200;
  }
  return found.then((made) => {
    sendPrepared(reply, made);
    return 200;
  });
}

/** Sends one of {@link ERRORS}. @returns its status */
export function sendError(reply: Reply, error: PreparedResponse): number {
  reply.refusal = REFUSAL_OF.get(error);
  sendPrepared(reply, error);
  return error.head.status;
}

/** Sends 400. @param isLast whether the connection is closed after this response */
export function sendBadRequest(reply: Reply, text: string, isLast = false): number {
  sendPrepared(reply, apiError(400, text), undefined, isLast);
  return 400;
}

/** Sends 429. @param refusal which limit was exceeded */
export function sendOverLimit(reply: Reply, refusal: 'key_limit' | 'address_limit'): number {
  reply.refusal = refusal;
  sendPrepared(reply, OVER_LIMIT, `Retry-After: ${reply.quota.resetSeconds}\r\n`);
  return OVER_LIMIT.head.status;
}

/** Sends 503. @param seconds after which the client may try again */
export function sendMaintenance(reply: Reply, seconds: number): number {
  reply.refusal = 'maintenance';
  sendPrepared(reply, MAINTENANCE, `Retry-After: ${seconds}\r\n`);
  return MAINTENANCE.head.status;
}

/** Answers a CORS preflight. */
export function sendPreflight(reply: Reply): number {
  sendPrepared(reply, PREFLIGHT);
  return PREFLIGHT.head.status;
}

function apiError(status: number, text: string, headers: HeaderList = []): PreparedResponse {
  return prepareError(status, text, [...CORS, ...headers]);
}

function unauthorized(text: string): PreparedResponse {
  return apiError(401, text, ['WWW-Authenticate', 'Bearer']);
}

/** The header fields that every response of the API has, with values of this request. */
export function ownHeaders({ id, quota: { limit, remaining, resetSeconds } }: Reply): HeaderLines {
  return `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${resetSeconds}\r\nX-Request-Id: ${id}\r\n`;
}
