/**
 * Writes responses: header fields as one flat array and the body with them in a single write where
 * it is small. Fields that never change stand in constants.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Quota } from '../limits/rolling-window.ts';
import { type Coding, matchesEtag } from './negotiation.ts';
import { etagOf, type Representation, type Resource, representationOf } from './resource.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const CORS = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'ETag, Link, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Snapshot',
];
const PREFLIGHT = [
  ...CORS,
  'Access-Control-Allow-Methods',
  'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers',
  'Authorization, X-Api-Key, If-None-Match, X-Snapshot',
  'Access-Control-Max-Age',
  '86400',
  'Cache-Control',
  'no-store',
];
export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

/** A response that no client has taken after this is given up, so that slow readers hold nothing. */
const LONGEST_DRAIN_MS = 30_000;

/** What every response under the base needs to know. */
export interface Reply {
  readonly response: ServerResponse;
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
  const etag = etagOf(resource, coding);
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag)) {
    const fields = resourceFields(reply.quota, etag, snapshot, resource.link);
    reply.response.writeHead(304, fields);
    end(reply.response, undefined, 'latin1');
    return 304;
  }
  const representation = representationOf(resource, coding);
  if (representation instanceof Promise) {
    return representation.then((made) => sendBody(reply, resource, made, snapshot));
  }
  return sendBody(reply, resource, representation, snapshot);
}

/**
 * Sends an error of the one shape.
 * @param extra further header fields, flat
 */
export function sendError(
  { response, quota }: Reply,
  status: number,
  text: string,
  extra: readonly string[] = [],
): number {
  const body = errorBody(text);
  response.writeHead(status, [...errorFields(body), ...CORS, ...quotaFields(quota), ...extra]);
  end(response, body, 'utf8');
  return status;
}

/** Answers a CORS preflight. */
export function sendPreflight({ response, quota }: Reply): number {
  response.writeHead(204, [...PREFLIGHT, ...quotaFields(quota)]);
  end(response, undefined, 'latin1');
  return 204;
}

/** The header fields of an error outside the base, where no limit counts. */
export function errorFields(body: string): string[] {
  return [
    'Content-Type',
    JSON_TYPE,
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Cache-Control',
    'no-store',
  ];
}

export function errorBody(text: string): string {
  return JSON.stringify({ error: text });
}

/** Ends a response and gives up on a client that does not read it. */
export function end(
  response: ServerResponse,
  payload: string | Buffer | undefined,
  encoding: BufferEncoding,
): void {
  if (payload === undefined) response.end();
  else response.end(payload, encoding);
  const { socket } = response;
  // Behind others of a client that did not wait for them: its turn may come when nobody reads.
  if (socket === null)
    response.once('socket', (assigned: Socket) => limitDrain(response, assigned));
  // Only what the kernel would not take at once is still here: no timer for nearly every response.
  else if (socket.writableLength > 0) limitDrain(response, socket);
}

function limitDrain(response: ServerResponse, socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  response.once('close', () => clearTimeout(timer));
}

function sendBody(
  { response, quota }: Reply,
  resource: Resource,
  { coding, etag, payload, length }: Representation,
  snapshot: string,
): number {
  const fields = resourceFields(quota, etag, snapshot, resource.link);
  fields.push('Content-Type', JSON_TYPE, 'Content-Length', String(length));
  if (coding !== 'identity') fields.push('Content-Encoding', coding);
  response.writeHead(200, fields);
  end(response, payload, 'latin1');
  return 200;
}

function resourceFields(
  { limit, remaining, resetSeconds }: Quota,
  etag: string,
  snapshot: string,
  link: string | undefined,
): string[] {
  const fields = [
    'ETag',
    etag,
    'X-Snapshot',
    snapshot,
    'Cache-Control',
    'private, no-cache',
    'Vary',
    'Accept-Encoding',
    'Access-Control-Allow-Origin',
    '*',
    'Access-Control-Expose-Headers',
    CORS[3] as string,
    'X-RateLimit-Limit',
    String(limit),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    String(resetSeconds),
  ];
  if (link !== undefined) fields.push('Link', link);
  return fields;
}

function quotaFields({ limit, remaining, resetSeconds }: Quota): string[] {
  return [
    'X-RateLimit-Limit',
    String(limit),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    String(resetSeconds),
  ];
}
