/**
 * The request that the API works with: its target, its id, and the header fields that the proxy needs. It is
 * the same for requests that the fast path has read and for those that Node's HTTP server has read.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { KEY_BODY, KEY_PREFIX } from '../../lib/format/api-key.ts';

export interface ApiRequest {
  readonly method: string;
  readonly socket: Pick<Socket, 'remoteAddress'> &
    Partial<Pick<Socket, 'destroyed' | 'readableEnded'>>;
  readonly head: RequestHead;
  /** The raw path after the base, and the raw query. */
  readonly target: string;
}

/** The base that every path of the API begins with. */
export const BASE = '/api/v1';

/** The path of a target, and its query without "?"; '' if it has no query. */
export function splitTarget(target: string): readonly [path: string, queryString: string] {
  const question = target.indexOf('?');
  return question < 0 ? [target, ''] : [target.slice(0, question), target.slice(question + 1)];
}

/** How every path of a download begins, after the base. */
export const DOWNLOADS = '/snapshot';

// Header fields.

export interface RequestHead {
  /** The raw API key; undefined if there is none or more than one. */
  readonly key: string | undefined;
  /** Whether more than one header field contains a key. */
  readonly hasSeveralKeys: boolean;
  /** Whether a header field contains a key, but not in the form in which it is read. */
  readonly hasMisplacedKey: boolean;
  readonly ifNoneMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  /** The id of the generation that must be current. */
  readonly snapshot: string | undefined;
  readonly forwardedFor: string | undefined;
  /** The id that the client has chosen; undefined if it is not well-formed. */
  readonly requestId: string | undefined;
  /** What the 400 says if the request is not well-formed; undefined if it is. */
  readonly fault: HeadFault | undefined;
}

export interface HeadFault {
  readonly text: string;
  /** The header field that is wrong, if one is. */
  readonly field?: string | undefined;
}

/** No valid key is nearly as long. Longer ones are cut, so that looking them up stays cheap. */
const LONGEST_KEY = 256;
/** The start of a key: at the start of a field, behind another scheme, or as the password of a user. */
const MISPLACED_KEY = new RegExp(`(?:^|[ \\t"'=:])${KEY_PREFIX}`);
const BEARER = /^bearer[ \t]+([^ \t].*)$/i;
const BASIC = /^basic[ \t]+([A-Za-z0-9+/=_-]+)$/i;

/**
 * Reads the raw fields. Node's parsed headers hide repeated fields: they keep only the first of two
 * `Authorization` fields, and join two `X-Api-Key` fields into one.
 */
export function readHead({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): RequestHead {
  const fields = new Map<string, string>();
  const repeated = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i].toLowerCase();
    const value = rawHeaders[i + 1];
    const before = fields.get(name);
    if (before !== undefined) repeated.add(name);
    fields.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  const hasBody = fields.has('transfer-encoding') || (fields.get('content-length') ?? '0') !== '0';
  let fault: HeadFault | undefined;
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    fault = { text: 'Only HTTP/1.1 is supported' };
  else if (repeated.has('host') || (!fields.has('host') && httpVersion === '1.1')) {
    fault = { text: 'A request must have exactly one Host header', field: 'Host' };
  } else if (!isHost(fields.get('host') ?? '')) {
    const text = 'The Host header must be a host name or an address, and a port if there is one';
    fault = { text, field: 'Host' };
  } else if (hasBody) fault = { text: 'A request must not have a body' };
  else if (repeated.has('x-snapshot')) {
    fault = { text: 'X-Snapshot must be given at most once', field: 'X-Snapshot' };
  }

  const authorization = fields.get('authorization') ?? '';
  const apiKey = fields.get('x-api-key');
  const token = tokenOf(authorization);
  const hasSeveralKeys =
    repeated.has('authorization') ||
    repeated.has('x-api-key') ||
    (token !== undefined && apiKey !== undefined);
  // A script with an unset variable sends an empty field, which contains no key.
  const key = hasSeveralKeys ? undefined : (token ?? apiKey) || undefined;
  const hasMisplacedKey =
    (token === undefined && MISPLACED_KEY.test(decodeBasic(authorization))) ||
    MISPLACED_KEY.test(apiKey ?? '');
  const requestId = fields.get('x-request-id') ?? '';
  return {
    key: key?.slice(0, LONGEST_KEY),
    hasSeveralKeys,
    hasMisplacedKey: hasMisplacedKey && key?.startsWith(KEY_PREFIX) !== true,
    ifNoneMatch: fields.get('if-none-match'),
    ifModifiedSince: fields.get('if-modified-since'),
    acceptEncoding: fields.get('accept-encoding'),
    range: fields.get('range'),
    ifRange: fields.get('if-range'),
    snapshot: fields.get('x-snapshot') || undefined,
    forwardedFor: fields.get('x-forwarded-for'),
    requestId: isRequestId(requestId) ? requestId : undefined,
    fault,
  };
}

/** `host [ ":" port ]` of RFC 3986. It is empty if the client has no name for the host (RFC 9112 section 3.2). */
const HOST =
  /^(?:\[[A-Za-z0-9.:_~!$&'()*+,;=-]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/;

/** Whether a Host field is well-formed. */
export function isHost(host: string): boolean {
  return HOST.test(host);
}

/** The token of the Bearer scheme; '' if the token is missing, undefined for another scheme. */
function tokenOf(authorization: string): string | undefined {
  const token = BEARER.exec(authorization)?.[1];
  if (token !== undefined) return token;
  return authorization.toLowerCase() === 'bearer' ? '' : undefined;
}

/** The credentials of the Basic scheme, in which a client may have sent its key; other text as it is. */
function decodeBasic(authorization: string): string {
  const encoded = BASIC.exec(authorization)?.[1];
  return encoded === undefined ? authorization : Buffer.from(encoded, 'base64').toString('latin1');
}

// Ids. An operator finds a request in the logs by its id. The client may choose it in `X-Request-Id`.
// Invariant: an id is short, needs no escaping anywhere, and does not contain an API key.

const SHAPE = /^[A-Za-z0-9._-]{1,64}$/;

/** Whether a client may choose this id. */
export function isRequestId(text: string): boolean {
  return SHAPE.test(text) && !text.includes(KEY_PREFIX) && !KEY_BODY.test(text);
}
