/**
 * Answers requests for paths outside the base: fixed pages, found by their exact path, and whether a key
 * works. No key is needed. Errors are pages for browsers and JSON for programs.
 */
import type { Logger } from 'pino';
import { isValid, type KeyTable } from '../../proxy/admit/keys/key-table.ts';
import { toResponder } from '../../proxy/http/node-response.ts';
import { readHead } from '../../proxy/http/request.ts';
import { type Resource, respond } from '../../proxy/http/resource.ts';
import {
  INTERNAL_ERROR,
  JSON_TYPE,
  type PreparedResponse,
  withoutSlash,
} from '../../proxy/http/response.ts';
import type { SiteHandler } from '../../proxy/http/server.ts';
import {
  makePage,
  prepareBadRequest,
  prepareSiteError,
  sendError,
  uncachedPage,
} from './page-responses.ts';

const NOT_FOUND = prepareSiteError(
  404,
  'Not found',
  'There is no such page',
  'The address may be mistyped, or the page has moved.',
);
const METHOD_NOT_ALLOWED = prepareSiteError(
  405,
  'Method not allowed',
  'This page can only be read',
  'It does not accept this kind of request.',
  'Allow: GET, HEAD\r\n',
);
export interface PageParts {
  /** The page at a path; undefined if there is none. */
  readonly pageAt: (path: string) => Promise<Resource> | undefined;
  readonly keys: Pick<KeyTable, 'byHash'>;
  readonly log: Logger;
}

export function makeSiteHandler({ pageAt, keys, log }: PageParts): SiteHandler {
  return function handleSite(request, response, path) {
    const { send } = toResponder(response);
    const head = readHead(request);
    const page = pageAt(path);
    const own = page?.then((it) => respond(it, head)) ?? keyStatus(path, keys);
    if (head.fault !== undefined) {
      sendError(request, response, prepareBadRequest(head.fault), true);
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendError(request, response, METHOD_NOT_ALLOWED);
    } else if (own !== undefined) {
      Promise.resolve(own).then(send, (error) => {
        log.error({ err: error }, 'cannot make a page');
        send(INTERNAL_ERROR);
      });
    } else if (/[^/]\/$/.test(path) && pageAt(path.slice(0, -1)) !== undefined) {
      send(withoutSlash(request.url));
    } else {
      sendError(request, response, NOT_FOUND);
    }
  };
}

/**
 * /key-status/<SHA-256 of a key>: whether the API accepts the key, as JSON. The account pages ask this
 * before they show a new key, so that it works as soon as its owner copies it. No limit applies, because
 * a look-up costs less than any page. Nobody can guess the hash of a key.
 * @returns undefined if the path is another one
 */
function keyStatus(path: string, { byHash }: PageParts['keys']): PreparedResponse | undefined {
  const hash = /^\/key-status\/([0-9a-f]{64})$/.exec(path)?.[1];
  if (hash === undefined) return undefined;
  const key = byHash(hash);
  const text = JSON.stringify({ works: key !== undefined && isValid(key) });
  return uncachedPage(200, makePage(JSON_TYPE, text, { cacheControl: 'no-store' }));
}
