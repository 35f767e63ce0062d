/**
 * Writes responses: header fields as text that goes out as it stands, together with the body where
 * that is small. What is the same in all of them, or in all of one resource, is put together once.
 */

import { JSON_TYPE, sendPlainError } from '../http/message/errors.ts';
import { type Coding, matchesEtag } from '../http/message/negotiation.ts';
import type { Responder } from '../http/message/responder.ts';
import type { Quota } from '../limits/rolling-window.ts';
import {
  etagOf,
  fieldsOf,
  type Representation,
  type Resource,
  representationOf,
} from './resource.ts';

const CORS =
  'Access-Control-Allow-Origin: *\r\n' +
  'Access-Control-Expose-Headers: ETag, Link, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Snapshot\r\n';
const PREFLIGHT =
  CORS +
  'Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n' +
  'Access-Control-Allow-Headers: Authorization, X-Api-Key, If-None-Match, X-Snapshot\r\n' +
  'Access-Control-Max-Age: 86400\r\n' +
  'Cache-Control: no-store\r\n';
const RESOURCE = `Cache-Control: private, no-cache\r\nVary: Accept-Encoding\r\n${CORS}`;
const RESOURCE_BODY = `${RESOURCE}Content-Type: ${JSON_TYPE}\r\n`;
export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

/** What every response under the base needs to know. */
export interface Reply {
  readonly response: Responder;
  readonly quota: Quota;
}

/**
 * Sends a resource, or 304 where the client has it.
 * @param snapshot the id of the generation it came from
 * @returns the status, at once or when the body was compressed
 */
export function sendResource(
  reply: Reply,
  resource: Resource,
  snapshot: string,
  wanted: Coding,
  ifNoneMatch: string | undefined,
): number | Promise<number> {
  const coding = resource.isCompressible ? wanted : 'identity';
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etagOf(resource, coding))) {
    const own = `${fieldsOf(resource, coding)}X-Snapshot: ${snapshot}\r\n`;
    reply.response.send(304, RESOURCE + own + quotaFields(reply.quota), '');
    return 304;
  }
  const representation = representationOf(resource, coding);
  if (representation instanceof Promise) {
    return representation.then((made) => sendBody(reply, made, snapshot));
  }
  return sendBody(reply, representation, snapshot);
}

/**
 * Sends an error of the one shape.
 * @param extra further header fields as lines, each with CR LF behind it
 * @param isLast whether the connection ends with it
 */
export function sendError(
  { response, quota }: Reply,
  status: number,
  text: string,
  extra = '',
  isLast = false,
): number {
  sendPlainError(response, status, text, CORS + quotaFields(quota) + extra, isLast);
  return status;
}

/** Answers a CORS preflight. */
export function sendPreflight({ response, quota }: Reply): number {
  response.send(204, PREFLIGHT + quotaFields(quota), '');
  return 204;
}

function sendBody(
  { response, quota }: Reply,
  { fields, payload }: Representation,
  snapshot: string,
): number {
  const own = `${fields}X-Snapshot: ${snapshot}\r\n`;
  response.send(200, RESOURCE_BODY + own + quotaFields(quota), payload);
  return 200;
}

function quotaFields({ limit, remaining, resetSeconds }: Quota): string {
  return `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${resetSeconds}\r\n`;
}
