/**
 * Reads the header fields of a request that the proxy needs, in one pass over the raw fields. Node's
 * parsed headers hide repeated fields: they keep only the first of two `Authorization` fields, and join
 * two `X-Api-Key` fields into one.
 */
import type { IncomingMessage } from 'node:http';
import { KEY_PREFIX } from '../../../format/api-key.ts';
import { isRequestId } from './request-id.ts';

export interface RequestHead {
  /** The raw API key; undefined if there is none or more than one. */
  readonly key: string | undefined;
  /** Whether more than one header field contains a key. */
  readonly hasSeveralKeys: boolean;
  /** Whether a header field contains a key, but not in the form in which it is read. */
  readonly hasMisplacedKey: boolean;
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
  /** The id of the generation that must be current. */
  readonly snapshot: string | undefined;
  readonly forwardedFor: string | undefined;
  /** The id that the client has chosen; undefined if it is not well-formed. */
  readonly requestId: string | undefined;
  /** The text of the 400 if the request is not well-formed; undefined if it is. */
  readonly fault: string | undefined;
}

/** No valid key is nearly as long. Longer ones are cut, so that looking them up stays cheap. */
const LONGEST_KEY = 256;
/** The start of a key: at the start of a field, or behind another scheme. */
const MISPLACED_KEY = new RegExp(`(?:^|[ \\t"'=])${KEY_PREFIX}`);
const BEARER = /^bearer[ \t]+([^ \t].*)$/i;

export function readHead({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): RequestHead {
  let authorizations = 0;
  let hasMisplacedKey = false;
  let bearer: string | undefined;
  let apiKeys = 0;
  let apiKey: string | undefined;
  let hosts = 0;
  let hasBody = false;
  let ifNoneMatch: string | undefined;
  let acceptEncoding: string | undefined;
  let range: string | undefined;
  let ifRange: string | undefined;
  let snapshots = 0;
  let snapshot: string | undefined;
  let forwardedFor: string | undefined;
  let requestIds = 0;
  let requestId: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const value = rawHeaders[i + 1];
    switch (rawHeaders[i].toLowerCase()) {
      case 'host':
        hosts++;
        break;
      case 'authorization': {
        authorizations++;
        const token = tokenOf(value);
        bearer = token ?? bearer;
        hasMisplacedKey ||= token === undefined && MISPLACED_KEY.test(value);
        break;
      }
      case 'x-api-key':
        apiKeys++;
        apiKey = value;
        hasMisplacedKey ||= MISPLACED_KEY.test(value);
        break;
      case 'x-snapshot':
        snapshots++;
        snapshot = value;
        break;
      case 'x-request-id':
        requestIds++;
        requestId = value;
        break;
      case 'if-none-match':
        ifNoneMatch = join(ifNoneMatch, value);
        break;
      case 'accept-encoding':
        acceptEncoding = join(acceptEncoding, value);
        break;
      case 'x-forwarded-for':
        forwardedFor = join(forwardedFor, value);
        break;
      case 'range':
        range = join(range, value);
        break;
      case 'if-range':
        ifRange = join(ifRange, value);
        break;
      case 'content-length':
        hasBody ||= value !== '0';
        break;
      case 'transfer-encoding':
        hasBody = true;
        break;
    }
  }
  let fault: string | undefined;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') fault = 'Only HTTP/1.1 is supported';
  else if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    fault = 'A request must have exactly one Host header';
  } else if (hasBody) fault = 'A request must not have a body';
  else if (snapshots > 1) fault = 'X-Snapshot must be given at most once';
  const hasSeveralKeys = authorizations > 1 || apiKeys > 1 || (bearer !== undefined && apiKeys > 0);
  // A script with an unset variable sends an empty field, which contains no key.
  const key = hasSeveralKeys ? undefined : (bearer ?? apiKey) || undefined;
  return {
    key: key?.slice(0, LONGEST_KEY),
    hasSeveralKeys,
    hasMisplacedKey: hasMisplacedKey && key?.startsWith(KEY_PREFIX) !== true,
    ifNoneMatch,
    acceptEncoding,
    range,
    ifRange,
    snapshot: snapshot || undefined,
    forwardedFor,
    requestId: requestIds === 1 && isRequestId(requestId ?? '') ? requestId : undefined,
    fault,
  };
}

/** The token of the Bearer scheme; '' if the token is missing, undefined for another scheme. */
function tokenOf(authorization: string): string | undefined {
  const token = BEARER.exec(authorization)?.[1];
  if (token !== undefined) return token;
  return authorization.toLowerCase() === 'bearer' ? '' : undefined;
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}
