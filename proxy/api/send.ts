/**
 * A request under way, its header fields, and the responses of the API whose text is always the same.
 */
import type { ApiRequest } from '../http/request.ts';
import {
  type HeaderLines,
  type HeaderList,
  NO_BODY,
  type PreparedResponse,
  prepareError,
  type Responder,
} from '../http/response.ts';
import type { KeyRecord } from '../keys/key-table.ts';
import type { Quota } from '../limits/rolling-window.ts';
import type { Refusal } from './request-counts.ts';
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
  /** Why the request was refused, once it was. */
  refusal: Refusal | undefined;
  /** How many bytes of a body were sent. */
  bytes: number;
  /** The id of the generation that the response comes from, once it was sent. */
  snapshot: string | undefined;
}

/** The header fields that every response of the API has, with values of this request. */
export function ownHeaders({ id, quota: { limit, remaining, resetSeconds } }: Reply): HeaderLines {
  return `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${resetSeconds}\r\nX-Request-Id: ${id}\r\n`;
}

/** A response that does not come from a generation. */
export interface Answer {
  readonly prepared: PreparedResponse;
  /** The header fields of only this response. */
  readonly headers?: HeaderLines;
  /** Whether the connection is closed after it. */
  readonly isLast?: boolean;
  /** Why the request was not served, although it was well-formed. */
  readonly refusal?: Refusal;
}

const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';
/** Those that the API reads, and those that scripts and tracing libraries often add. */
const ALLOWED_HEADERS =
  'Authorization, X-Api-Key, X-Snapshot, If-None-Match, Content-Type, Cache-Control, X-Request-Id, X-Requested-With, traceparent, tracestate';
export const PREFLIGHT: Answer = {
  prepared: {
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
  },
};
export const RETRY_SOON_SECONDS = 5;
const RETRY_SOON = ['Retry-After', String(RETRY_SOON_SECONDS)];
const OVER_LIMIT = apiError(429, 'Rate limit exceeded');
const MAINTENANCE = apiError(503, 'Under maintenance');

/** Errors of the API whose text is always the same. */
export const ERRORS = {
  notFound: error(404, 'Not found'),
  method: error(405, 'Method not allowed', undefined, ['Allow', ALLOWED_METHODS]),
  sinceGone: error(
    410,
    'Snapshot gone: read the whole catalogue again, and send its X-Snapshot as since from then on',
  ),
  snapshotChanged: error(412, 'Snapshot changed'),
  busy: error(503, 'Snapshot busy', 'snapshot_busy', RETRY_SOON),
  manyDownloads: error(503, 'Too many downloads', 'many_downloads', RETRY_SOON),
  noSnapshot: error(503, 'No snapshot yet', 'no_snapshot', RETRY_SOON),
  longTarget: error(414, 'Request target too long'),
  noKeys: error(503, 'No API keys yet', 'no_keys', RETRY_SOON),
  noLimits: error(
    503,
    'Rate limits cannot be checked at the moment',
    'limits_unavailable',
    RETRY_SOON,
  ),
  internal: error(500, 'Internal error'),
  severalKeys: unauthorized('Send the API key in exactly one header', 'several_keys'),
  missingKey: unauthorized('Missing API key', 'missing_key'),
  misplacedKey: unauthorized(
    'Send the API key as "Authorization: Bearer <key>" or as "X-Api-Key: <key>"',
    'misplaced_key',
  ),
  invalidKey: unauthorized('Invalid API key', 'invalid_key'),
} as const;

/** 400. @param isLast whether the connection is closed after it */
export function badRequest(text: string, isLast = false): Answer {
  return { prepared: apiError(400, text), isLast };
}

/** 429. @param refusal which limit was exceeded */
export function overLimit({ resetSeconds }: Quota, refusal: 'key_limit' | 'address_limit'): Answer {
  return { prepared: OVER_LIMIT, headers: `Retry-After: ${resetSeconds}\r\n`, refusal };
}

/** 503. @param seconds after which the client may try again */
export function maintenance(seconds: number): Answer {
  const headers = `Retry-After: ${seconds}\r\n`;
  return { prepared: MAINTENANCE, headers, refusal: 'maintenance' };
}

function error(status: number, text: string, refusal?: Refusal, headers: HeaderList = []): Answer {
  const prepared = apiError(status, text, headers);
  return refusal === undefined ? { prepared } : { prepared, refusal };
}

function unauthorized(text: string, refusal: Refusal): Answer {
  return error(401, text, refusal, ['WWW-Authenticate', 'Bearer']);
}

function apiError(status: number, text: string, headers: HeaderList = []): PreparedResponse {
  return prepareError(status, text, [...CORS, ...headers]);
}
