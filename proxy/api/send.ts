/**
 * A request under way, its header fields, and the responses of the API whose text is always the same.
 */
import { type AdmissionRefusal, RETRY_SOON_SECONDS } from '../admit/admission.ts';
import type { KeyRecord } from '../admit/keys/key-table.ts';
import type { Quota } from '../admit/limits/rolling-window.ts';
import type { ApiRequest, HeadFault } from '../http/request.ts';
import {
  type HeaderLines,
  headerLines,
  NO_BODY,
  type PreparedResponse,
  prepareError,
  type Responder,
} from '../http/response.ts';
import type { RefusalReason, RouteLabel } from './request-counts.ts';
import { CORS } from './routes/route.ts';

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
  route: RouteLabel;
  /** Whether a response has begun. */
  isSent: boolean;
  /** Why the request was refused, once it was. */
  refusal: RefusalReason | undefined;
}

/** The header fields that every response of the API has, with values of this request, and that of its key. */
export function ownHeaders({ id, key, quota }: Reply): HeaderLines {
  const { limit, remaining, resetSeconds } = quota;
  const own = key === undefined ? '' : key.idHeader;
  return `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${resetSeconds}\r\nX-Request-Id: ${id}\r\n${own}`;
}

/** A response that does not come from a generation. */
export interface Answer extends PreparedResponse {
  /** Why the request was not served, although it was well-formed. */
  readonly refusal?: RefusalReason | undefined;
}

const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';
/** Those that the API reads, and those that scripts and tracing libraries often add. */
const ALLOWED_HEADERS =
  'Authorization, X-Api-Key, X-Snapshot, If-None-Match, If-Range, Content-Type, Cache-Control, X-Request-Id, X-Requested-With, Pragma, traceparent, tracestate, baggage, sentry-trace';
const PREFLIGHT_HEADERS = headerLines(
  `Access-Control-Allow-Methods: ${ALLOWED_METHODS}`,
  `Access-Control-Allow-Headers: ${ALLOWED_HEADERS}`,
  'Access-Control-Max-Age: 86400',
  'Cache-Control: no-store',
);
export const PREFLIGHT: Answer = { status: 204, headers: CORS + PREFLIGHT_HEADERS, body: NO_BODY };

const RETRY_SOON = retryAfter(RETRY_SOON_SECONDS);
const MAINTENANCE = error(503, 'Under maintenance', 'maintenance');

/** Errors of the API whose text is always the same. */
export const ERRORS = {
  notFound: error(404, 'Not found'),
  method: error(405, 'Method not allowed', undefined, `Allow: ${ALLOWED_METHODS}\r\n`),
  sinceGone: error(
    410,
    'Snapshot gone: read the whole catalogue again, and send its X-Snapshot as since from then on',
  ),
  snapshotChanged: error(
    412,
    'Snapshot changed. Leave X-Snapshot out, or begin again with the current one',
  ),
  manyDownloads: error(429, 'Too many downloads', 'many_downloads'),
  manyWaiting: error(429, 'Too many requests at once', 'many_waiting'),
  noSnapshot: error(503, 'No snapshot yet', 'no_snapshot', RETRY_SOON),
  longTarget: error(414, 'Request target too long'),
  noKeys: error(503, 'No API keys yet', 'no_keys', RETRY_SOON),
  internal: error(500, 'Internal error'),
} as const;

const NOT_ADMITTED: Readonly<Record<AdmissionRefusal, Answer>> = {
  several_keys: unauthorized('Send the API key in exactly one header', 'several_keys'),
  missing_key: unauthorized('Missing API key', 'missing_key'),
  misplaced_key: unauthorized(
    'Send the API key as "Authorization: Bearer <key>" or as "X-Api-Key: <key>"',
    'misplaced_key',
  ),
  invalid_key: unauthorized('Invalid API key', 'invalid_key'),
  key_limit: error(429, 'Rate limit exceeded', 'key_limit'),
  address_limit: error(429, 'Rate limit exceeded', 'address_limit'),
  limits_unavailable: error(
    503,
    'Rate limits cannot be checked at the moment',
    'limits_unavailable',
    RETRY_SOON,
  ),
};

/** 400, with the name of the parameter or header field that is wrong, if one is. */
export function badRequest({ text, field }: HeadFault): Answer {
  return prepareError(400, text, CORS, field);
}

/** The answer to a request that is not admitted. */
export function notAdmitted(refusal: AdmissionRefusal, quota: Quota): Answer {
  const answer = NOT_ADMITTED[refusal];
  return answer.status === 429 ? tryLater(answer, quota) : answer;
}

/** A 429, whose `Retry-After` is also its `X-RateLimit-Reset`. */
export function tryLater(answer: Answer, { resetSeconds }: Quota): Answer {
  return { ...answer, headers: answer.headers + retryAfter(resetSeconds) };
}

/** 503. @param seconds after which the client may try again */
export function maintenance(seconds: number): Answer {
  return { ...MAINTENANCE, headers: MAINTENANCE.headers + retryAfter(seconds) };
}

function retryAfter(seconds: number): HeaderLines {
  return `Retry-After: ${seconds}\r\n`;
}

function error(
  status: number,
  text: string,
  refusal?: RefusalReason,
  headers: HeaderLines = '',
): Answer {
  return { ...prepareError(status, text, CORS + headers), refusal };
}

function unauthorized(text: string, refusal: RefusalReason): Answer {
  return error(401, text, refusal, 'WWW-Authenticate: Bearer\r\n');
}
